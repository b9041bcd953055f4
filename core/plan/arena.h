#pragma once

#include <functional>
#include <vector>

#include "core/plan/plan.h"

namespace moeblaze {

/// Buffers of a Plan laid into one block of memory, so that those alive together do not overlap.
struct Arena {
  std::vector<int64_t> offsets;  ///< by buffer, in bytes; -1 for those that are not in it
  int64_t bytes = 0;             ///< at least the most alive at once; more where lifetimes leave gaps
};

/// What every buffer of an arena is aligned to.
inline constexpr int64_t kArenaAlignment = 256;

/// Packs the buffers that own storage and that `included` names, each with `guardBytes` behind it: the largest first,
/// at the lowest place free for its lifetime.
Arena packArena(const Plan& plan, const std::function<bool(const Buffer&)>& included, int64_t guardBytes = 0);

}  // namespace moeblaze
