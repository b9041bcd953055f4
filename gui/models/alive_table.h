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

/// What of an instant's live allocations is shown, and how.
struct AliveQuery {
  TrackId track = TrackId::none;
  int64_t instantNs = 0;
  std::optional<Attribute> grouping;
  AliveColumn sort = AliveColumn::bytes;
  bool descending = true;
  std::string filter;  ///< in name, role, Step or stack; empty: all
  bool operator==(const AliveQuery&) const = default;
};

/// What is alive at an instant: filtered, sorted and grouped. Immutable; made on a worker thread, since there may be
/// millions.
class AliveTable {
 public:
  struct Group {
    size_t key = 0;               ///< of the grouping's attribute
    size_t first = 0, count = 0;  ///< into rows()
    int64_t bytes = 0;
  };

  /// Throws Interrupted when stopped.
  AliveTable(std::shared_ptr<const Document> document, std::shared_ptr<const TraceLabels> labels, AliveQuery query,
             const std::stop_token& stop = {});

  const AliveQuery& query() const { return query_; }
  const TraceLabels& labels() const { return *labels_; }
  const Document& document() const { return *document_; }
  /// Indices into Trace::allocations, group after group.
  std::span<const uint32_t> rows() const { return rows_; }
  /// Empty without a grouping.
  std::span<const Group> groups() const { return groups_; }
  const Allocation& allocation(size_t row) const { return document_->trace().allocations[rows_[row]]; }
  int64_t ageNs(const Allocation& allocation) const { return query_.instantNs - allocation.allocNs; }

  /// Of the rows; and of everything alive, whatever the filter.
  int64_t bytes() const { return bytes_; }
  int64_t allBytes() const { return allBytes_; }
  size_t allCount() const { return allCount_; }
  std::optional<size_t> rowOf(size_t allocation) const;
  size_t groupOf(size_t row) const;
  /// All rows with a header line.
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
