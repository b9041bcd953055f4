#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gui/document/document.h"
#include "gui/models/trace_labels.h"

namespace moeblaze::gui {

enum class AliveColumn : uint8_t { name, bytes, share, role, step, age, stack };
inline constexpr int kAliveColumns = 7;

/// Which of the allocations alive at an instant are shown, and how.
struct AliveQuery {
  TrackId track = TrackId::none;
  int64_t instantNs = 0;
  std::optional<Attribute> grouping;
  AliveColumn sort = AliveColumn::bytes;
  bool descending = true;
  std::string filter;  ///< a text to find in the name, role, Step or stack; empty shows all
  bool operator==(const AliveQuery&) const = default;
};

/// The allocations alive at an instant, filtered, sorted and grouped. Immutable. Make it on a worker thread, since
/// there may be millions of them.
class AliveTable {
 public:
  struct Group {
    size_t key = 0;               ///< the value of the grouping's attribute
    size_t first = 0, count = 0;  ///< its rows in rows()
    int64_t bytes = 0;
  };

  /// Throws Interrupted when stopped.
  AliveTable(std::shared_ptr<const Document> document, std::shared_ptr<const TraceLabels> labels, AliveQuery query,
             const std::stop_token& stop = {});

  const AliveQuery& query() const { return query_; }
  const TraceLabels& labels() const { return *labels_; }
  const Document& document() const { return *document_; }
  /// The rows as indices into Trace::allocations, one group after another.
  std::span<const uint32_t> rows() const { return rows_; }
  /// The groups; empty if the query has no grouping.
  std::span<const Group> groups() const { return groups_; }
  const Allocation& allocation(size_t row) const { return document_->trace().allocations[rows_[row]]; }
  /// How long an allocation has been alive at the instant, in ns.
  int64_t ageNs(const Allocation& allocation) const { return query_.instantNs - allocation.allocNs; }

  /// bytes() is the sum of the rows; allBytes() and allCount() are those of all live allocations, whatever the filter.
  int64_t bytes() const { return bytes_; }
  int64_t allBytes() const { return allBytes_; }
  size_t allCount() const { return allCount_; }
  /// The row of an allocation, given as an index into Trace::allocations; nothing if the table does not hold it.
  std::optional<size_t> rowOf(size_t allocation) const;
  /// The group that a row belongs to; requires a grouping.
  size_t groupOf(size_t row) const;
  /// All rows as comma-separated values after a header line.
  std::string csv() const;

 private:
  void filter();
  void sort();
  void group();
  uint64_t sortKey(const Allocation& allocation) const;

  std::shared_ptr<const Document> document_;
  std::shared_ptr<const TraceLabels> labels_;
  AliveQuery query_;
  std::vector<uint32_t> rows_;
  std::vector<Group> groups_;
  int64_t bytes_ = 0, allBytes_ = 0;
  size_t allCount_ = 0;
};

}  // namespace moeblaze::gui
