#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/progress.h"
#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

/// The allocations of a track in the order they were made, searchable by lifetime. Allocations that are freed at the
/// instant they are made are left out. Immutable, and safe to share between threads.
class LifetimeIndex {
 public:
  LifetimeIndex(std::shared_ptr<const Trace> trace, TrackId track, const Progress& progress = {});

  const Trace& trace() const { return *trace_; }
  /// Indices into Trace::allocations in the order of allocNs.
  std::span<const uint32_t> order() const { return order_; }

  /// Calls `onAllocation(index)` for every allocation that is alive at some instant of `window`, in the order they were
  /// made.
  void visit(const TimeWindow& window, const std::function<void(uint32_t)>& onAllocation) const;
  /// The number of allocations that visit() would find.
  size_t count(const TimeWindow& window) const;
  /// At most `count` of them, those with the most bytes × time alive within the window, in the order they were made.
  std::vector<uint32_t> largest(const TimeWindow& window, size_t count) const;

  /// What a picture of a window shows.
  struct InWindow {
    std::vector<uint32_t> largest;
    size_t alive = 0;  ///< all that are alive in the window, those in `largest` included
  };
  InWindow inWindow(const TimeWindow& window, size_t most) const { return {largest(window, most), count(window)}; }

 private:
  static constexpr size_t kBucket = 64, kFanOut = 4;

  struct Node {
    int64_t minFreeNs = 0, maxFreeNs = 0, maxBytes = 0;
    double maxArea = 0;  ///< bytes × ns
  };
  class Largest;
  template <typename OnPlace>
  void walk(size_t level, size_t node, size_t end, int64_t startNs, OnPlace& onPlace) const;
  size_t countNode(size_t level, size_t node, size_t end, int64_t startNs) const;
  /// The place in order_ of the first allocation under a node.
  static size_t firstPlace(size_t level, size_t node) {
    for (; level > 0; --level) node *= kFanOut;
    return node * kBucket;
  }
  size_t madeBefore(int64_t timeNs) const;
  const Allocation& at(size_t place) const { return trace_->allocations[order_[place]]; }
  void addLevels();

  std::shared_ptr<const Trace> trace_;
  std::vector<uint32_t> order_;
  /// A node of the first level covers 64 allocations, and one of each further level four nodes of the one before
  std::vector<std::vector<Node>> levels_;
};

}  // namespace moeblaze::gui
