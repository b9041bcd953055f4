#include "gui/timeline/index/lifetime_index.h"

#include <algorithm>
#include <queue>

#include "gui/timeline/index/time_order.h"

namespace moeblaze::gui {
namespace {

double visibleNs(const Allocation& allocation, const TimeWindow& window) {
  return static_cast<double>(std::min(allocation.freeNs, window.endNs) - std::max(allocation.allocNs, window.startNs));
}

}  // namespace

LifetimeIndex::LifetimeIndex(std::shared_ptr<const Trace> trace, TrackId track, const Progress& progress)
    : trace_(std::move(trace)) {
  const std::vector<Allocation>& all = trace_->allocations;
  std::vector<Timed> order;
  order.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].track == track && all[i].allocNs < all[i].freeNs)
      order.push_back({all[i].allocNs, static_cast<uint32_t>(i)});
  progress.report(0.3);
  sortByTime(order, progress);
  progress.report(0.6);
  order_.reserve(order.size());
  for (const Timed& item : order) order_.push_back(item.index);
  addLevels();
  progress.report(1);
}

void LifetimeIndex::addLevels() {
  levels_.emplace_back((order_.size() + kBucket - 1) / kBucket);
  for (size_t place = 0; place < order_.size(); ++place) {
    const Allocation& allocation = at(place);
    Node& node = levels_[0][place / kBucket];
    if (place % kBucket == 0) node.minFreeNs = node.maxFreeNs = allocation.freeNs;
    node.minFreeNs = std::min(node.minFreeNs, allocation.freeNs);
    node.maxFreeNs = std::max(node.maxFreeNs, allocation.freeNs);
    node.maxBytes = std::max(node.maxBytes, allocation.bytes);
    node.maxArea =
        std::max(node.maxArea, static_cast<double>(allocation.bytes) *
                                   (static_cast<double>(allocation.freeNs) - static_cast<double>(allocation.allocNs)));
  }
  while (levels_.back().size() > 1) {
    const std::vector<Node>& below = levels_.back();
    std::vector<Node> next;
    for (size_t i = 0; i < below.size(); ++i) {
      if (i % kFanOut == 0) next.push_back(below[i]);
      next.back().minFreeNs = std::min(next.back().minFreeNs, below[i].minFreeNs);
      next.back().maxFreeNs = std::max(next.back().maxFreeNs, below[i].maxFreeNs);
      next.back().maxBytes = std::max(next.back().maxBytes, below[i].maxBytes);
      next.back().maxArea = std::max(next.back().maxArea, below[i].maxArea);
    }
    levels_.push_back(std::move(next));
  }
}

size_t LifetimeIndex::madeBefore(int64_t timeNs) const {
  return static_cast<size_t>(
      std::ranges::lower_bound(order_, timeNs, {}, [&](uint32_t i) { return trace_->allocations[i].allocNs; }) -
      order_.begin());
}

template <typename OnPlace>
void LifetimeIndex::walk(size_t level, size_t node, size_t end, int64_t startNs, OnPlace& onPlace) const {
  if (levels_[level][node].maxFreeNs <= startNs || firstPlace(level, node) >= end) return;
  if (level > 0) {
    const size_t last = std::min(levels_[level - 1].size(), (node + 1) * kFanOut);
    for (size_t child = node * kFanOut; child < last; ++child) walk(level - 1, child, end, startNs, onPlace);
    return;
  }
  for (size_t place = node * kBucket; place < std::min(end, (node + 1) * kBucket); ++place)
    if (at(place).freeNs > startNs) onPlace(place);
}

void LifetimeIndex::visit(const TimeWindow& window, const std::function<void(uint32_t)>& onAllocation) const {
  const auto onPlace = [&](size_t place) { onAllocation(order_[place]); };
  const size_t end = madeBefore(window.endNs);
  if (end > 0) walk(levels_.size() - 1, 0, end, window.startNs, onPlace);
}

size_t LifetimeIndex::count(const TimeWindow& window) const {
  const size_t end = madeBefore(window.endNs);
  return end == 0 ? 0 : countNode(levels_.size() - 1, 0, end, window.startNs);
}

/// Counts the allocations of a node that are made before place `end` and live after `startNs`. Nodes that lie wholly
/// inside count as a whole.
size_t LifetimeIndex::countNode(size_t level, size_t node, size_t end, int64_t startNs) const {
  const size_t first = firstPlace(level, node), last = std::min(order_.size(), firstPlace(level, node + 1));
  if (levels_[level][node].maxFreeNs <= startNs || first >= end) return 0;
  if (levels_[level][node].minFreeNs > startNs && last <= end) return last - first;
  size_t count = 0;
  if (level == 0) {
    for (size_t place = first; place < std::min(end, last); ++place) count += at(place).freeNs > startNs;
    return count;
  }
  const size_t lastChild = std::min(levels_[level - 1].size(), (node + 1) * kFanOut);
  for (size_t child = node * kFanOut; child < lastChild; ++child) count += countNode(level - 1, child, end, startNs);
  return count;
}

/// Best-first search: visits the nodes in order of the largest area that one of their allocations can have, and stops
/// when that is less than the smallest area found so far.
class LifetimeIndex::Largest {
 public:
  Largest(const LifetimeIndex& index, const TimeWindow& window, size_t count)
      : index_(index), window_(window), count_(count), end_(index.madeBefore(window.endNs)) {}

  std::vector<uint32_t> find() {
    if (end_ > 0) push(index_.levels_.size() - 1, 0);
    while (!nodes_.empty() && (found_.size() < count_ || nodes_.top().bound > found_.top().area)) {
      const Candidate node = nodes_.top();
      nodes_.pop();
      if (node.level == 0) {
        addBucket(node.at);
        continue;
      }
      const size_t last = std::min(index_.levels_[node.level - 1].size(), (node.at + 1) * kFanOut);
      for (size_t child = node.at * kFanOut; child < last; ++child) push(node.level - 1, child);
    }
    std::vector<size_t> places;
    for (; !found_.empty(); found_.pop()) places.push_back(found_.top().place);
    std::ranges::sort(places);
    std::vector<uint32_t> allocations;
    for (size_t place : places) allocations.push_back(index_.order_[place]);
    return allocations;
  }

 private:
  struct Candidate {
    double bound = 0;
    size_t level = 0, at = 0;
    bool operator<(const Candidate& other) const { return bound < other.bound; }
  };
  struct Found {
    double area = 0;
    size_t place = 0;
    bool operator<(const Found& other) const { return area != other.area ? area > other.area : place < other.place; }
  };

  void push(size_t level, size_t at) {
    const Node& node = index_.levels_[level][at];
    if (firstPlace(level, at) >= end_ || node.maxFreeNs <= window_.startNs) return;
    const double span = static_cast<double>(window_.spanNs());
    nodes_.push({std::min(node.maxArea, static_cast<double>(node.maxBytes) * span), level, at});
  }

  void addBucket(size_t at) {
    for (size_t place = at * kBucket; place < std::min(end_, (at + 1) * kBucket); ++place) {
      const Allocation& allocation = index_.at(place);
      if (allocation.freeNs <= window_.startNs) continue;
      const double area = static_cast<double>(allocation.bytes) * visibleNs(allocation, window_);
      if (found_.size() == count_) {
        if (area <= found_.top().area) continue;
        found_.pop();
      }
      found_.push({area, place});
    }
  }

  const LifetimeIndex& index_;
  TimeWindow window_;
  size_t count_, end_;
  std::priority_queue<Candidate> nodes_;
  std::priority_queue<Found> found_;  ///< the smallest on top
};

std::vector<uint32_t> LifetimeIndex::largest(const TimeWindow& window, size_t count) const {
  return count == 0 ? std::vector<uint32_t>() : Largest(*this, window, count).find();
}

}  // namespace moeblaze::gui
