#pragma once

#include <functional>
#include <vector>

#include "core/plan/plan.h"

namespace moeblaze {

/// Where the buffers of a Plan lie in one block of memory. Buffers that are alive together do not overlap.
struct Arena {
  std::vector<int64_t> offsets;  ///< offset in bytes of each buffer of the Plan; -1 if it is not in the arena
  int64_t bytes = 0;             ///< size of the block; lifetimes can leave gaps, so it can exceed the peak
};

/// Every offset in an Arena is a multiple of this many bytes.
inline constexpr int64_t kArenaAlignment = 256;

/// Packs the buffers that own their storage and for which `included` returns true, each followed by `guardBytes` bytes.
/// The largest is placed first; each takes the lowest offset that is free throughout its lifetime.
Arena packArena(const Plan& plan, const std::function<bool(const Buffer&)>& included, int64_t guardBytes = 0);

}  // namespace moeblaze
