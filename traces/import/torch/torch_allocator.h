#pragma once

#include <array>
#include <cstdint>

namespace moeblaze {

/// The sizes PyTorch's caching allocator gives: what its counters count, where a recording only has what was asked for.
struct TorchAllocatorRules {
  bool expandableSegments = false;
  int64_t maxSplitBytes = 0;            ///< blocks from this size on are not split; 0: no limit
  std::array<int64_t, 16> divisions{};  ///< roundup_power2_divisions of 1 MiB, 2 MiB, 4 MiB, ...

  /// The size a request is rounded up to: 512 bytes, or a part of a power of two.
  int64_t rounded(int64_t request) const;
  /// The size of the block that serves `request` out of `gap` free bytes: all of them where the rest is too small to be
  /// worth a block of its own.
  int64_t blockBytes(int64_t request, int64_t gap) const;
};

}  // namespace moeblaze
