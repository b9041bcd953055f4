#include "core/plan/arena.h"

#include <algorithm>

namespace moeblaze {
namespace {

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

/// The bytes [begin, end) of the arena that a buffer takes, guard included, and when it takes them.
struct Placed {
  int64_t begin, end;
  Lifetime lifetime;
};

}  // namespace

Arena packArena(const Plan& plan, const std::function<bool(const Buffer&)>& included, int64_t guardBytes) {
  Arena arena;
  arena.offsets.assign(plan.buffers.size(), -1);
  std::vector<size_t> order;
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].ownsStorage() && included(plan.buffers[i])) order.push_back(i);
  std::ranges::stable_sort(order, std::greater{}, [&](size_t i) { return plan.buffers[i].bytes; });

  std::vector<Placed> placed;  // ascending by begin
  for (size_t i : order) {
    const Buffer& buffer = plan.buffers[i];
    const int64_t bytes = (buffer.bytes + guardBytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
    int64_t at = 0;
    for (const Placed& other : placed) {
      if (!overlap(other.lifetime, buffer.lifetime)) continue;
      if (other.begin >= at + bytes) break;
      at = std::max(at, other.end);
    }
    arena.offsets[i] = at;
    arena.bytes = std::max(arena.bytes, at + bytes);
    const Placed entry{at, at + bytes, buffer.lifetime};
    placed.insert(std::ranges::upper_bound(placed, at, {}, &Placed::begin), entry);
  }
  return arena;
}

}  // namespace moeblaze
