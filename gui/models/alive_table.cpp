#include "gui/models/alive_table.h"

#include <algorithm>
#include <array>
#include <limits>

#include "core/base/report.h"

namespace moeblaze::gui {
namespace {

void check(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Interrupted();
}

std::optional<Attribute> attributeOf(AliveColumn column) {
  switch (column) {
    case AliveColumn::name:
      return Attribute::name;
    case AliveColumn::role:
      return Attribute::role;
    case AliveColumn::step:
      return Attribute::step;
    case AliveColumn::stack:
      return Attribute::stack;
    default:
      return std::nullopt;
  }
}

}  // namespace

AliveTable::AliveTable(std::shared_ptr<const Document> document, std::shared_ptr<const TraceLabels> labels,
                       AliveQuery query, const std::stop_token& stop)
    : document_(std::move(document)), labels_(std::move(labels)), query_(std::move(query)) {
  if (query_.track == TrackId::none) return;
  const std::vector<size_t> live = document_->events(query_.track)->liveAt(query_.instantNs);
  rows_.assign(live.begin(), live.end());
  allCount_ = rows_.size();
  for (size_t row = 0; row < rows_.size(); ++row) allBytes_ += allocation(row).bytes;
  check(stop);
  filter();
  check(stop);
  sort();
  check(stop);
  if (query_.grouping) group();
  for (size_t row = 0; row < rows_.size(); ++row) bytes_ += allocation(row).bytes;
}

void AliveTable::filter() {
  if (query_.filter.empty()) return;
  std::array<std::vector<bool>, kAttributes.size()> matches;
  for (Attribute attribute : kAttributes)
    matches[static_cast<size_t>(attribute)] = labels_->matches(attribute, query_.filter);
  std::erase_if(rows_, [&](uint32_t id) {
    const Allocation& allocation = document_->trace().allocations[id];
    return std::ranges::none_of(kAttributes, [&](Attribute attribute) {
      return matches[static_cast<size_t>(attribute)][keyOf(allocation, attribute)];
    });
  });
}

uint64_t AliveTable::sortKey(const Allocation& allocation) const {
  if (const auto attribute = attributeOf(query_.sort)) return labels_->ranks(*attribute)[keyOf(allocation, *attribute)];
  return static_cast<uint64_t>(query_.sort == AliveColumn::age ? ageNs(allocation) : allocation.bytes);
}

void AliveTable::sort() {
  // Keys are kept beside the rows, so that comparisons do not look up allocations again.
  std::vector<std::pair<uint64_t, uint32_t>> keyed(rows_.size());
  for (size_t row = 0; row < rows_.size(); ++row) {
    const uint64_t key = sortKey(allocation(row));
    keyed[row] = {query_.descending ? std::numeric_limits<uint64_t>::max() - key : key, rows_[row]};
  }
  std::ranges::stable_sort(keyed, {}, &std::pair<uint64_t, uint32_t>::first);
  std::ranges::transform(keyed, rows_.begin(), &std::pair<uint64_t, uint32_t>::second);
}

void AliveTable::group() {
  const Attribute attribute = *query_.grouping;
  std::vector<Group> byKey(labels_->keys(attribute));
  for (size_t row = 0; row < rows_.size(); ++row) {
    Group& group = byKey[keyOf(allocation(row), attribute)];
    ++group.count;
    group.bytes += allocation(row).bytes;
  }
  for (size_t key = 0; key < byKey.size(); ++key) {
    byKey[key].key = key;
    if (byKey[key].count > 0) groups_.push_back(byKey[key]);
  }
  // Groups are ordered by label if the rows are sorted by it, else by their bytes.
  const bool byLabel = attributeOf(query_.sort) == attribute || query_.sort == AliveColumn::name;
  const std::vector<uint32_t>& ranks = labels_->ranks(attribute);
  std::ranges::stable_sort(groups_, [&](const Group& a, const Group& b) {
    const int64_t left = byLabel ? ranks[a.key] : a.bytes, right = byLabel ? ranks[b.key] : b.bytes;
    return query_.descending ? left > right : left < right;
  });
  size_t first = 0;
  for (Group& group : groups_) {
    byKey[group.key].first = group.first = first;
    first += group.count;
  }
  std::vector<uint32_t> grouped(rows_.size());
  for (size_t row = 0; row < rows_.size(); ++row)
    grouped[byKey[keyOf(allocation(row), attribute)].first++] = rows_[row];
  rows_ = std::move(grouped);
}

std::optional<size_t> AliveTable::rowOf(size_t allocation) const {
  const auto found = std::ranges::find(rows_, static_cast<uint32_t>(allocation));
  return found == rows_.end() ? std::nullopt : std::optional(static_cast<size_t>(found - rows_.begin()));
}

size_t AliveTable::groupOf(size_t row) const {
  const auto after = std::ranges::upper_bound(groups_, row, {}, &Group::first);
  return static_cast<size_t>(after - groups_.begin()) - 1;
}

std::string AliveTable::csv() const {
  std::vector<Record> records;
  records.reserve(rows_.size());
  for (size_t row = 0; row < rows_.size(); ++row) {
    const Allocation& a = allocation(row);
    records.push_back({{"name", labels_->label(Attribute::name, a)},
                       {"bytes", a.bytes},
                       {"role", labels_->label(Attribute::role, a)},
                       {"step", labels_->label(Attribute::step, a)},
                       {"age_ms", static_cast<double>(ageNs(a)) / 1e6},
                       {"allocated_ms", static_cast<double>(a.allocNs) / 1e6},
                       {"stack", labels_->stackText(a.stack)}});
  }
  return csvText(records);
}

}  // namespace moeblaze::gui
