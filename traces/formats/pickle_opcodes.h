#pragma once

#include <cstdint>
#include <string_view>

namespace moeblaze {

/// The opcodes of a pickle that only build data.
enum class PickleOp : uint8_t {
  proto = 0x80,
  frame = 0x95,
  stop = '.',
  mark = '(',
  pop = '0',
  none = 'N',
  newTrue = 0x88,
  newFalse = 0x89,
  binInt = 'J',
  binInt1 = 'K',
  binInt2 = 'M',
  long1 = 0x8a,
  binFloat = 'G',
  shortBinUnicode = 0x8c,
  binUnicode = 'X',
  binUnicode8 = 0x8d,
  shortBinBytes = 'C',
  binBytes = 'B',
  binBytes8 = 0x8e,
  emptyTuple = ')',
  tuple = 't',
  tuple1 = 0x85,
  tuple2 = 0x86,
  tuple3 = 0x87,
  emptyList = ']',
  list = 'l',
  append = 'a',
  appends = 'e',
  emptyDict = '}',
  dict = 'd',
  setItem = 's',
  setItems = 'u',
  binPut = 'q',
  longBinPut = 'r',
  memoize = 0x94,
  binGet = 'h',
  longBinGet = 'j',
};

/// Python's name for an opcode that is refused; empty for a byte that is none.
std::string_view refusedOpcodeName(uint8_t opcode);

}  // namespace moeblaze
