#include "gui/timeline/index/memory_index.h"

#include <algorithm>
#include <utility>

namespace moeblaze::gui {
namespace {

/// The first of times[from, ...) that is at or after `timeNs`. The search starts with small steps and doubles them,
/// because the next column is usually near.
size_t gallop(std::span<const int64_t> times, size_t from, int64_t timeNs) {
  size_t step = 1, low = from, high = from;
  while (high < times.size() && times[high] < timeNs) {
    low = high + 1;
    high = std::min(times.size(), high + step);
    step *= 2;
  }
  return static_cast<size_t>(std::lower_bound(times.begin() + static_cast<ptrdiff_t>(low),
                                              times.begin() + static_cast<ptrdiff_t>(high), timeNs) -
                             times.begin());
}

}  // namespace

void MemoryIndex::Node::add(const Node& other) {
  if (other.maxBytes > maxBytes) {  // of equal maxima the earlier one stays
    maxBytes = other.maxBytes;
    maxPoint = other.maxPoint;
  }
  minBytes = std::min(minBytes, other.minBytes);
}

MemoryIndex::MemoryIndex(std::shared_ptr<const MemoryEvents> events, Categorizer categorizer, const Progress& progress)
    : events_(std::move(events)), categorizer_(std::move(categorizer)) {
  build(progress);
}

void MemoryIndex::addEvents(size_t point, CategoryBytes& bytes) const {
  const std::vector<Allocation>& all = events_->trace().allocations;
  for (size_t at = events_->firstEvent(point); at < events_->firstEvent(point + 1); ++at) {
    const MemoryEvents::Event event = events_->event(at);
    const Allocation& allocation = all[event.allocation];
    bytes[categorizer_(allocation)] += event.isFree ? -allocation.bytes : allocation.bytes;
  }
}

void MemoryIndex::build(const Progress& progress) {
  const size_t points = events_->pointCount();
  const std::span<const int64_t> bytes = events_->bytes();
  CategoryBytes now{};
  levels_.emplace_back();
  for (size_t point = 0; point < points;) {
    if (buckets_.size() % 4096 == 0) progress.report(static_cast<double>(point) / static_cast<double>(points));
    Bucket bucket{static_cast<uint32_t>(point), now, {}};
    Node node{bytes[point], bytes[point], static_cast<uint32_t>(point)};
    const size_t firstEvent = events_->firstEvent(point), first = point;
    do {
      addEvents(point, now);
      node.add({bytes[point], bytes[point], static_cast<uint32_t>(point)});
      if (node.maxPoint == point) bucket.atMax = now;
      ++point;
    } while (point < points && point < first + kBucketPoints &&
             events_->firstEvent(point + 1) - firstEvent <= kBucketEvents);
    buckets_.push_back(bucket);
    levels_.back().push_back(node);
  }
  while (levels_.back().size() > 1) {
    std::vector<Node> next;
    const std::vector<Node>& below = levels_.back();
    for (size_t i = 0; i < below.size(); ++i)
      if (i % kFanOut == 0)
        next.push_back(below[i]);
      else
        next.back().add(below[i]);
    levels_.push_back(std::move(next));
  }
}

size_t MemoryIndex::bucketOf(size_t point) const {
  return static_cast<size_t>(std::ranges::upper_bound(buckets_, point, {}, &Bucket::firstPoint) - buckets_.begin()) - 1;
}

/// The minimum and maximum over the points [first, last). Requires first < last.
MemoryIndex::Node MemoryIndex::nodeOfPoints(size_t first, size_t last) const {
  const std::span<const int64_t> bytes = events_->bytes();
  Node node{bytes[first], bytes[first], static_cast<uint32_t>(first)};
  for (size_t point = first + 1; point < last; ++point)
    node.add({bytes[point], bytes[point], static_cast<uint32_t>(point)});
  return node;
}

/// The minimum and maximum over the buckets [first, last), taken from nodes as high in the pyramid as possible.
/// Requires first < last.
MemoryIndex::Node MemoryIndex::nodeOfBuckets(size_t first, size_t last) const {
  Node node = levels_[0][first];
  for (size_t at = first + 1; at < last;) {
    size_t level = 0, width = 1;
    while (level + 1 < levels_.size() && at % (width * kFanOut) == 0 && at + width * kFanOut <= last) {
      ++level;
      width *= kFanOut;
    }
    node.add(levels_[level][at / width]);
    at += width;
  }
  return node;
}

MemoryIndex::Node MemoryIndex::nodeOfRange(size_t first, size_t last) const {
  const size_t firstBucket = bucketOf(first), lastBucket = bucketOf(last - 1);
  if (firstBucket == lastBucket) return nodeOfPoints(first, last);
  const bool startsBucket = buckets_[firstBucket].firstPoint == first;
  Node node = startsBucket ? nodeOfBuckets(firstBucket, firstBucket + 1)
                           : nodeOfPoints(first, buckets_[firstBucket + 1].firstPoint);
  if (firstBucket + 1 < lastBucket) node.add(nodeOfBuckets(firstBucket + 1, lastBucket));
  node.add(nodeOfPoints(buckets_[lastBucket].firstPoint, last));
  return node;
}

/// Bytes by category after a point. Points must be asked for in ascending order, so that each bucket is replayed at
/// most once.
class MemoryIndex::Cursor {
 public:
  explicit Cursor(const MemoryIndex& index) : index_(index) {}

  const CategoryBytes& after(size_t point) {
    const size_t bucket = index_.bucketOf(point);
    if (index_.levels_[0][bucket].maxPoint == point) return index_.buckets_[bucket].atMax;
    const size_t first = index_.buckets_[bucket].firstPoint;
    if (next_ <= first || next_ > point + 1) {
      next_ = first;
      bytes_ = index_.buckets_[bucket].before;
    }
    for (; next_ <= point; ++next_) index_.addEvents(next_, bytes_);
    return bytes_;
  }

 private:
  const MemoryIndex& index_;
  size_t next_ = 0;  ///< the point whose events come next
  CategoryBytes bytes_{};
};

std::vector<MemoryColumn> MemoryIndex::columns(const TimeScale& scale) const {
  std::vector<MemoryColumn> columns(static_cast<size_t>(scale.width()));
  const std::span<const int64_t> times = events_->times();
  const std::span<const int64_t> bytes = events_->bytes();
  if (times.empty()) return columns;
  Cursor cursor(*this);
  size_t first = static_cast<size_t>(std::ranges::lower_bound(times, scale.edge(0)) - times.begin());
  for (int c = 0; c < scale.width(); ++c) {
    MemoryColumn& column = columns[static_cast<size_t>(c)];
    const int64_t startNs = scale.edge(c), endNs = scale.edge(c + 1);
    const size_t last = gallop(times, first, endNs);
    const int64_t entering = first == 0 ? 0 : bytes[first - 1];
    column.enteringBytes = column.minBytes = column.maxBytes = entering;
    column.maxNs = startNs < endNs ? startNs : startNs - 1;
    size_t maxPoint = first;  // one more than the point of the maximum; 0 means before the first point
    const bool entered = first == last || times[first] > startNs;
    if (first < last) {
      const Node node = nodeOfRange(first, last);
      column.minBytes = entered ? std::min(entering, node.minBytes) : node.minBytes;
      if (!entered || node.maxBytes > entering) {
        column.maxBytes = node.maxBytes;
        column.maxNs = times[node.maxPoint];
        maxPoint = node.maxPoint + size_t{1};
      }
    }
    if (maxPoint > 0) column.atMax = cursor.after(maxPoint - 1);
    first = last;
  }
  return columns;
}

CategoryBytes MemoryIndex::categoriesAt(int64_t timeNs) const {
  const std::span<const int64_t> times = events_->times();
  const auto after = std::ranges::upper_bound(times, timeNs);
  if (after == times.begin()) return {};
  return Cursor(*this).after(static_cast<size_t>(after - times.begin()) - 1);
}

}  // namespace moeblaze::gui
