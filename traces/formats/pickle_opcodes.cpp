#include "traces/formats/pickle_opcodes.h"

#include <algorithm>
#include <array>
#include <utility>

namespace moeblaze {

std::string_view refusedOpcodeName(uint8_t opcode) {
  constexpr auto kNames = std::to_array<std::pair<uint8_t, std::string_view>>({
      {'c', "GLOBAL"},
      {0x93, "STACK_GLOBAL"},
      {'R', "REDUCE"},
      {'b', "BUILD"},
      {0x81, "NEWOBJ"},
      {0x92, "NEWOBJ_EX"},
      {'i', "INST"},
      {'o', "OBJ"},
      {0x82, "EXT1"},
      {0x83, "EXT2"},
      {0x84, "EXT4"},
      {'P', "PERSID"},
      {'Q', "BINPERSID"},
      {'1', "POP_MARK"},
      {'2', "DUP"},
      {'F', "FLOAT"},
      {'I', "INT"},
      {'L', "LONG"},
      {0x8b, "LONG4"},
      {'S', "STRING"},
      {'T', "BINSTRING"},
      {'U', "SHORT_BINSTRING"},
      {'V', "UNICODE"},
      {'g', "GET"},
      {'p', "PUT"},
      {0x8f, "EMPTY_SET"},
      {0x90, "ADDITEMS"},
      {0x91, "FROZENSET"},
      {0x96, "BYTEARRAY8"},
      {0x97, "NEXT_BUFFER"},
      {0x98, "READONLY_BUFFER"},
  });
  const auto found = std::ranges::find(kNames, opcode, &std::pair<uint8_t, std::string_view>::first);
  return found == kNames.end() ? std::string_view() : found->second;
}

}  // namespace moeblaze
