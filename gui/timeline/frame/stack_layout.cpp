#include "gui/timeline/frame/stack_layout.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace moeblaze::gui {
namespace {

/// Builds a StackLayout column by column. When an allocation is freed, those above it sink. They are moved only once
/// the freed bytes add up to a visible step, and only those above the lowest freed allocation are looked at.
class StackBuilder {
 public:
  StackBuilder(const std::vector<Allocation>& all, std::span<const uint32_t> order, int64_t leastStepBytes)
      : all_(all), order_(order), leastStepBytes_(leastStepBytes) {}

  void build(std::span<const MemoryColumn> columns, StackLayout& layout) {
    layout.otherBytes.resize(columns.size());
    layout.polygons.reserve(order_.size());
    for (size_t at = 0; at < columns.size(); ++at) {
      const int64_t timeNs = columns[at].maxNs;
      const int column = static_cast<int>(at);
      takeFreed(timeNs, column, layout);
      if (freedBytes_ >= leastStepBytes_) settle(column, layout);
      addAllocated(timeNs, column, static_cast<int>(columns.size()), layout);
      layout.otherBytes[at] = columns[at].maxBytes - liveBytes_;
    }
  }

 private:
  struct Live {
    uint32_t polygon = 0;
    bool isFreed = false;
    int64_t bytes = 0;
    int64_t drawnBytes = 0;  ///< the bottom of its last step
  };
  struct End {
    int64_t freeNs = 0;
    uint32_t polygon = 0;
    bool operator>(const End& other) const { return freeNs > other.freeNs; }
  };

  /// Marks the allocations that were freed up to `timeNs`.
  void takeFreed(int64_t timeNs, int column, StackLayout& layout) {
    for (; !ends_.empty() && ends_.top().freeNs <= timeNs; ends_.pop()) {
      const auto found = std::ranges::lower_bound(live_, ends_.top().polygon, {}, &Live::polygon);
      found->isFreed = true;
      freedBytes_ += found->bytes;
      liveBytes_ -= found->bytes;
      lowestFreed_ = std::min(lowestFreed_, static_cast<size_t>(found - live_.begin()));
      layout.polygons[found->polygon].endColumn = column;
    }
  }

  void addAllocated(int64_t timeNs, int column, int columns, StackLayout& layout) {
    for (; next_ < order_.size() && all_[order_[next_]].allocNs <= timeNs; ++next_) {
      const Allocation& allocation = all_[order_[next_]];
      if (allocation.freeNs <= timeNs) continue;
      const auto polygon = static_cast<uint32_t>(layout.polygons.size());
      live_.push_back({polygon, false, allocation.bytes, liveBytes_});
      ends_.push({allocation.freeNs, polygon});
      layout.polygons.push_back({order_[next_], columns, {{column, liveBytes_}}});
      liveBytes_ += allocation.bytes;
    }
  }

  /// Moves the allocations above the freed ones down into the space they left.
  void settle(int column, StackLayout& layout) {
    int64_t bottom = liveBytes_;
    for (size_t at = lowestFreed_; at < live_.size(); ++at) bottom -= live_[at].isFreed ? 0 : live_[at].bytes;
    size_t to = lowestFreed_;
    for (size_t at = lowestFreed_; at < live_.size(); ++at) {
      Live one = live_[at];
      if (one.isFreed) continue;
      if (one.drawnBytes - bottom >= leastStepBytes_) {
        one.drawnBytes = bottom;
        layout.polygons[one.polygon].steps.push_back({column, bottom});
      }
      bottom += one.bytes;
      live_[to++] = one;
    }
    live_.resize(to);
    lowestFreed_ = to;
    freedBytes_ = 0;
  }

  const std::vector<Allocation>& all_;
  std::span<const uint32_t> order_;
  int64_t leastStepBytes_;
  size_t next_ = 0;         ///< the next place in order_
  std::vector<Live> live_;  ///< lowest first
  int64_t liveBytes_ = 0;   ///< bytes of the allocations that are not freed
  int64_t freedBytes_ = 0;  ///< bytes of freed allocations that still take space in the stack
  size_t lowestFreed_ = 0;  ///< a lower bound of the lowest freed place in live_
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

StackLayout layOutStack(const LifetimeIndex& lifetimes, const TimeScale& scale, std::span<const MemoryColumn> columns,
                        int64_t leastStepBytes, size_t most) {
  return layOutStack(lifetimes, lifetimes.inWindow(scale.window(), most), columns, leastStepBytes);
}

StackLayout layOutStack(const LifetimeIndex& lifetimes, const LifetimeIndex::InWindow& found,
                        std::span<const MemoryColumn> columns, int64_t leastStepBytes) {
  StackLayout layout;
  layout.shown = found.largest.size();
  layout.alive = found.alive;
  StackBuilder(lifetimes.trace().allocations, found.largest, leastStepBytes).build(columns, layout);
  return layout;
}

}  // namespace moeblaze::gui
