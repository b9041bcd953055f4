#pragma once

#include <array>
#include <cstdint>

namespace moeblaze {

/// Calculates the sizes of blocks that PyTorch's caching allocator gives. Its counters count these, while a recording
/// only has the sizes that were asked for. All sizes are in bytes. The rules are those of CUDACachingAllocator.cpp.
struct TorchAllocatorRules {
  bool expandableSegments = false;
  int64_t maxSplitBytes = 0;            ///< blocks of at least this size are not split; 0 means no limit
  std::array<int64_t, 16> divisions{};  ///< roundup_power2_divisions for 1 MiB, 2 MiB, 4 MiB, ...

  /// The size to which a request is rounded up: a multiple of 512, or of a fraction of a power of two.
  int64_t rounded(int64_t request) const;
  /// The size of the block that serves `request` out of `gap` free bytes. It is all of the gap where the rest would be
  /// too small for a block of its own.
  int64_t blockBytes(int64_t request, int64_t gap) const;
};

}  // namespace moeblaze
