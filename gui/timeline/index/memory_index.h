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

/// What the memory of a track did during one pixel column. A column that is too narrow to hold an instant has the value
/// just before it. Bytes by category are those at the instant of the maximum, so that they add up to it.
struct MemoryColumn {
  int64_t enteringBytes = 0;  ///< just before the column
  int64_t minBytes = 0, maxBytes = 0;
  int64_t maxNs = 0;  ///< the first instant of the maximum
  CategoryBytes atMax{};
};

/// The memory curve of a track in bands, for drawing at any zoom. A pyramid of nodes over the points keeps the minimum,
/// the maximum and the point of the maximum. Immutable, and safe to share between threads.
class MemoryIndex {
 public:
  MemoryIndex(std::shared_ptr<const MemoryEvents> events, Categorizer categorizer, const Progress& progress = {});

  const MemoryEvents& events() const { return *events_; }
  std::span<const Category> categories() const { return categorizer_.categories(); }
  /// The band of an allocation, as an index into categories().
  size_t categoryOf(const Allocation& allocation) const { return categorizer_(allocation); }
  MemoryCurve::Point peak() const { return events_->peak(); }

  /// One column for each pixel of `scale`.
  std::vector<MemoryColumn> columns(const TimeScale& scale) const;
  /// Bytes by category from the last event at or before `timeNs` to the next one.
  CategoryBytes categoriesAt(int64_t timeNs) const;

 private:
  static constexpr size_t kBucketPoints = 64, kBucketEvents = 4096, kFanOut = 4;

  struct Node {
    int64_t minBytes = 0, maxBytes = 0;
    uint32_t maxPoint = 0;
    void add(const Node& other);
  };
  /// A run of 64 neighbouring points, or of fewer if they have many events, so that replaying it is quick.
  struct Bucket {
    uint32_t firstPoint = 0;
    CategoryBytes before{};  ///< just before its first point
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
  /// The first level has a node for each bucket, and each further level one for four nodes of the one before
  std::vector<std::vector<Node>> levels_;
};

}  // namespace moeblaze::gui
