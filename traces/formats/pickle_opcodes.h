#pragma once

#include <cstdint>
#include <string_view>

namespace moeblaze {

/// The opcodes of a pickle that only build data. Each line is a group of related opcodes.
// clang-format off
enum class PickleOp : uint8_t {
  // The pickle as a whole, and the order of its stack.
  proto = 0x80, frame = 0x95, stop = '.', mark = '(', pop = '0',
  // Push a constant, a double, or an integer of 4, 1, 2 or any number of bytes.
  none = 'N', newTrue = 0x88, newFalse = 0x89, binFloat = 'G',
  binInt = 'J', binInt1 = 'K', binInt2 = 'M', long1 = 0x8a,
  // Push a text or bytes, whose length is stated in 1, 4 or 8 bytes.
  shortBinUnicode = 0x8c, binUnicode = 'X', binUnicode8 = 0x8d,
  shortBinBytes = 'C', binBytes = 'B', binBytes8 = 0x8e,
  // Make tuples, lists and dicts, and add items to the last two.
  emptyTuple = ')', tuple = 't', tuple1 = 0x85, tuple2 = 0x86, tuple3 = 0x87,
  emptyList = ']', list = 'l', append = 'a', appends = 'e',
  emptyDict = '}', dict = 'd', setItem = 's', setItems = 'u',
  // Keep the value on top of the stack under a number, and push it again.
  binPut = 'q', longBinPut = 'r', memoize = 0x94, binGet = 'h', longBinGet = 'j',
};
// clang-format on

/// Python's name for an opcode that is refused. Empty for a byte that is no opcode.
std::string_view refusedOpcodeName(uint8_t opcode);

}  // namespace moeblaze
