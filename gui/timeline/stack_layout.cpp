#include "gui/timeline/stack_layout.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace moeblaze::gui {
namespace {

/// Builds a layout column by column. Only what lies above the lowest that was freed since the last is looked at again.
class StackBuilder {
 public:
  StackBuilder(const std::vector<Allocation>& all, std::vector<uint32_t> order, int64_t leastStepBytes)
      : all_(all), order_(std::move(order)), leastStepBytes_(leastStepBytes) {}

  void build(std::span<const MemoryColumn> columns, StackLayout& layout) {
    layout.otherBytes.resize(columns.size());
    for (size_t column = 0; column < columns.size(); ++column) {
      const int64_t timeNs = columns[column].maxNs;
      const size_t changed = std::min(live_.size(), takeFreed(timeNs));
      addAllocated(timeNs, static_cast<int>(columns.size()), layout);
      settle(changed, static_cast<int>(column), layout);
      const int64_t top = live_.empty() ? 0 : live_.back().bottomBytes + live_.back().bytes;
      layout.otherBytes[column] = columns[column].maxBytes - top;
    }
  }

 private:
  struct Live {
    size_t polygon = 0;
    int64_t bytes = 0;
    int64_t bottomBytes = 0;
    int64_t drawnBytes = -1;  ///< the bottom of its last step; none yet
    bool isFreed = false;
  };
  struct End {
    int64_t freeNs = 0;
    size_t polygon = 0;
    bool operator>(const End& other) const { return freeNs > other.freeNs; }
  };

  /// Marks what was freed until `timeNs`; returns the place of the lowest.
  size_t takeFreed(int64_t timeNs) {
    size_t lowest = live_.size();
    for (; !ends_.empty() && ends_.top().freeNs <= timeNs; ends_.pop()) {
      const auto found = std::ranges::lower_bound(live_, ends_.top().polygon, {}, &Live::polygon);
      found->isFreed = true;
      lowest = std::min(lowest, static_cast<size_t>(found - live_.begin()));
    }
    return lowest;
  }

  void addAllocated(int64_t timeNs, int columns, StackLayout& layout) {
    for (; next_ < order_.size() && all_[order_[next_]].allocNs <= timeNs; ++next_) {
      const Allocation& allocation = all_[order_[next_]];
      if (allocation.freeNs <= timeNs) continue;
      live_.push_back({layout.polygons.size(), allocation.bytes});
      ends_.push({allocation.freeNs, layout.polygons.size()});
      layout.polygons.push_back({order_[next_], columns, {}});
    }
  }

  /// Lets what lies at `from` and above sink to where there is room.
  void settle(size_t from, int column, StackLayout& layout) {
    int64_t bottom = from == 0 ? 0 : live_[from - 1].bottomBytes + live_[from - 1].bytes;
    size_t to = from;
    for (size_t at = from; at < live_.size(); ++at) {
      Live one = live_[at];
      if (one.isFreed) {
        layout.polygons[one.polygon].endColumn = column;
        continue;
      }
      one.bottomBytes = bottom;
      if (one.drawnBytes < 0 || one.drawnBytes - bottom >= leastStepBytes_) {
        one.drawnBytes = bottom;
        layout.polygons[one.polygon].steps.push_back({column, bottom});
      }
      bottom += one.bytes;
      live_[to++] = one;
    }
    live_.resize(to);
  }

  const std::vector<Allocation>& all_;
  std::vector<uint32_t> order_;
  int64_t leastStepBytes_;
  size_t next_ = 0;         ///< of the order
  std::vector<Live> live_;  ///< lowest first
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace

StackLayout layOutStack(const LifetimeIndex& lifetimes, const TimeScale& scale, std::span<const MemoryColumn> columns,
                        int64_t leastStepBytes, size_t most) {
  std::vector<uint32_t> order = lifetimes.largest(scale.window(), most);
  StackLayout layout;
  layout.shown = order.size();
  layout.alive = lifetimes.count(scale.window());
  StackBuilder(lifetimes.trace().allocations, std::move(order), leastStepBytes).build(columns, layout);
  return layout;
}

}  // namespace moeblaze::gui
