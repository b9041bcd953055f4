#pragma once

#include <algorithm>
#include <cstdint>

namespace moeblaze {

/// The most thread blocks with which one kernel builds the index structures of `slots` = L·k slots. Plans count the
/// kernel's workspace for this number, and the kernel never uses more: four blocks on each of an H200's 132 processors,
/// fewer where a block would have less than 4096 slots, since every block reads what all blocks counted and that
/// reading grows with the square of their number.
constexpr int64_t maxIndexBlocks(int64_t slots) {
  constexpr int64_t kMinSlotsPerBlock = 4096, kMaxBlocks = int64_t{4} * 132;
  return std::clamp<int64_t>(slots / kMinSlotsPerBlock, 1, kMaxBlocks);
}

}  // namespace moeblaze
