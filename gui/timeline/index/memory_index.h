#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "gui/timeline/index/categories.h"
#include "gui/timeline/index/memory_events.h"
#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

using CategoryBytes = std::array<int64_t, kMaxCategories>;

/// What a track's memory did during one pixel column; of a column without an instant, what it held just before. Bytes
/// by category are those at the instant of the maximum, so they sum to it exactly.
struct MemoryColumn {
  int64_t enteringBytes = 0;  ///< just before the column
  int64_t minBytes = 0, maxBytes = 0;
  int64_t maxNs = 0;  ///< the first instant of the maximum
  CategoryBytes atMax{};
};

/// A memory curve split into bands, at every zoom: a pyramid over the points that keeps, for every node, the least and
/// the most bytes and the point of the most. Immutable and safe to share between threads.
class MemoryIndex {
 public:
  MemoryIndex(std::shared_ptr<const MemoryEvents> events, Categorizer categorizer, const Progress& progress = {});

  const MemoryEvents& events() const { return *events_; }
  std::span<const Category> categories() const { return categorizer_.categories(); }
  size_t categoryOf(const Allocation& allocation) const { return categorizer_(allocation); }
  MemoryCurve::Point peak() const { return events_->peak(); }

  /// One column a pixel of `scale`.
  std::vector<MemoryColumn> columns(const TimeScale& scale) const;
  /// Bytes by category from `timeNs` to the next event.
  CategoryBytes categoriesAt(int64_t timeNs) const;

 private:
  static constexpr size_t kBucketPoints = 64, kBucketEvents = 4096, kFanOut = 4;

  struct Node {
    int64_t minBytes = 0, maxBytes = 0;
    uint32_t maxPoint = 0;
    void add(const Node& other);
  };
  /// Neighbouring points: 64 of them, or fewer where they have many events, so that replaying one is quick.
  struct Bucket {
    uint32_t firstPoint = 0;
    CategoryBytes before{};  ///< of its first point
    CategoryBytes atMax{};
  };
  class Cursor;

  void build(const Progress& progress);
  void addEvents(size_t point, CategoryBytes& bytes) const;
  size_t bucketOf(size_t point) const;
  Node nodeOfRange(size_t first, size_t last) const;
  Node nodeOfPoints(size_t first, size_t last) const;
  Node nodeOfBuckets(size_t first, size_t last) const;

  std::shared_ptr<const MemoryEvents> events_;
  Categorizer categorizer_;
  std::vector<Bucket> buckets_;
  std::vector<std::vector<Node>> levels_;  ///< the first has a node a bucket, each next one a quarter of them
};

}  // namespace moeblaze::gui
