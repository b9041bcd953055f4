#include "gui/models/alive_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gui/timeline/index/time_scale.h"
#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

struct Header {
  const char *text, *tip;
};
constexpr std::array<Header, kAliveColumns> kHeaders{{
    {"Name", "What the buffer or tensor is called, as far as the trace tells"},
    {"Size", "Bytes it takes"},
    {"Share", "Of everything alive at this instant"},
    {"Role",
     "input, output, weight, gradient, saved (held for backward), transient, index or workspace (library "
     "scratch); unknown where the trace does not tell"},
    {"Step", "The operation that first wrote it"},
    {"Age", "How long it has been alive at this instant"},
    {"Stack", "The program's own line that allocated it; the whole stack as a tooltip"},
}};

bool isNumber(AliveColumn column) {
  return column == AliveColumn::bytes || column == AliveColumn::share || column == AliveColumn::age;
}

QString toText(const std::string& text) { return QString::fromStdString(text); }

QString shareText(int64_t bytes, int64_t all) {
  return toText(fmt::format("{:.1f} %", all == 0 ? 0 : 100.0 * static_cast<double>(bytes) / static_cast<double>(all)));
}

}  // namespace

AliveModel::AliveModel(QObject* parent) : QAbstractItemModel(parent) {}

void AliveModel::setTable(std::shared_ptr<const AliveTable> table) {
  beginResetModel();
  table_ = std::move(table);
  topFetched_ = std::min(allRows({}), kBatch);
  groupFetched_.clear();
  if (isGrouped())
    for (const AliveTable::Group& group : table_->groups()) groupFetched_.push_back(std::min(group.count, kBatch));
  endResetModel();
}

size_t AliveModel::allRows(const QModelIndex& parent) const {
  if (!table_ || parent.column() > 0) return 0;
  if (!parent.isValid()) return isGrouped() ? table_->groups().size() : table_->rows().size();
  const bool isGroup = isGrouped() && parent.internalId() == 0;
  return isGroup ? table_->groups()[static_cast<size_t>(parent.row())].count : 0;
}

size_t& AliveModel::fetched(const QModelIndex& parent) {
  return parent.isValid() ? groupFetched_[static_cast<size_t>(parent.row())] : topFetched_;
}

QModelIndex AliveModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  // The internal id is 0 for a row at the top, else the number of its group counted from 1.
  return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : 0);
}

QModelIndex AliveModel::parent(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == 0) return {};
  return createIndex(static_cast<int>(index.internalId()) - 1, 0, quintptr{0});
}

int AliveModel::rowCount(const QModelIndex& parent) const {
  if (allRows(parent) == 0) return 0;
  return static_cast<int>(parent.isValid() ? groupFetched_[static_cast<size_t>(parent.row())] : topFetched_);
}

int AliveModel::columnCount(const QModelIndex&) const { return kAliveColumns; }

bool AliveModel::hasChildren(const QModelIndex& parent) const { return allRows(parent) > 0; }

bool AliveModel::canFetchMore(const QModelIndex& parent) const {
  return static_cast<size_t>(rowCount(parent)) < allRows(parent);
}

void AliveModel::fetchMore(const QModelIndex& parent) {
  fetch(parent, std::min(allRows(parent), static_cast<size_t>(rowCount(parent)) + kBatch));
}

void AliveModel::fetch(const QModelIndex& parent, size_t count) {
  const size_t before = static_cast<size_t>(rowCount(parent));
  if (count <= before) return;
  beginInsertRows(parent, static_cast<int>(before), static_cast<int>(count) - 1);
  fetched(parent) = count;
  endInsertRows();
}

size_t AliveModel::tableRow(const QModelIndex& index) const {
  const size_t row = static_cast<size_t>(index.row());
  return index.internalId() == 0 ? row : table_->groups()[index.internalId() - 1].first + row;
}

std::optional<size_t> AliveModel::allocationAt(const QModelIndex& index) const {
  if (!index.isValid() || !table_ || (isGrouped() && index.internalId() == 0)) return std::nullopt;
  return table_->rows()[tableRow(index)];
}

QModelIndex AliveModel::indexOf(size_t allocation) {
  const auto row = table_ ? table_->rowOf(allocation) : std::nullopt;
  if (!row) return {};
  if (!isGrouped()) {
    fetch({}, *row + 1);
    return index(static_cast<int>(*row), 0);
  }
  const size_t group = table_->groupOf(*row);
  fetch({}, group + 1);
  const QModelIndex parent = index(static_cast<int>(group), 0);
  const size_t inGroup = *row - table_->groups()[group].first;
  fetch(parent, inGroup + 1);
  return index(static_cast<int>(inGroup), 0, parent);
}

QString AliveModel::groupText(size_t at, AliveColumn column) const {
  const AliveTable::Group& group = table_->groups()[at];
  switch (column) {
    case AliveColumn::name:
      return toText(fmt::format("{}  ({})", table_->labels().label(*table_->query().grouping, group.key),
                                countText(static_cast<int64_t>(group.count))));
    case AliveColumn::bytes:
      return UnitFormat::shared().text(group.bytes);
    case AliveColumn::share:
      return shareText(group.bytes, table_->allBytes());
    default:
      return {};
  }
}

QString AliveModel::allocationText(const Allocation& allocation, AliveColumn column) const {
  const TraceLabels& labels = table_->labels();
  switch (column) {
    case AliveColumn::name:
      return toText(labels.label(Attribute::name, allocation));
    case AliveColumn::bytes:
      return UnitFormat::shared().text(allocation.bytes);
    case AliveColumn::share:
      return shareText(allocation.bytes, table_->allBytes());
    case AliveColumn::role:
      return toText(labels.label(Attribute::role, allocation));
    case AliveColumn::step:
      return allocation.step == StepId::none ? QString() : toText(labels.label(Attribute::step, allocation));
    case AliveColumn::age:
      return toText((allocation.older ? "≥ " : "") + durationText(table_->ageNs(allocation)));
    case AliveColumn::stack:
      return allocation.stack == StackId::none ? QString() : toText(labels.label(Attribute::stack, allocation));
  }
  return {};
}

QVariant AliveModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || !table_) return {};
  const auto column = static_cast<AliveColumn>(index.column());
  if (role == Qt::TextAlignmentRole)
    return QVariant((isNumber(column) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
  const auto allocation = allocationAt(index);
  if (role == Qt::DisplayRole) {
    if (!allocation) return groupText(static_cast<size_t>(index.row()), column);
    return allocationText(table_->document().trace().allocations[*allocation], column);
  }
  if (!allocation) return {};
  const Allocation& a = table_->document().trace().allocations[*allocation];
  if (column == AliveColumn::bytes) return toText(bytesText(a.bytes, ByteUnit::exact));
  if (column == AliveColumn::stack) return toText(table_->labels().stackText(a.stack));
  return allocationText(a, column);
}

QVariant AliveModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kAliveColumns) return {};
  if (role == Qt::DisplayRole) return tr(kHeaders[static_cast<size_t>(section)].text);
  if (role == Qt::ToolTipRole) return tr(kHeaders[static_cast<size_t>(section)].tip);
  if (role == Qt::TextAlignmentRole)
    return QVariant((isNumber(static_cast<AliveColumn>(section)) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
  return {};
}

void AliveModel::refreshTexts() {
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kAliveColumns - 1));
  for (int group = 0; isGrouped() && group < rowCount(); ++group) {
    const QModelIndex parent = index(group, 0);
    if (const int rows = rowCount(parent); rows > 0)
      Q_EMIT dataChanged(index(0, 0, parent), index(rows - 1, kAliveColumns - 1, parent));
  }
}

QString AliveModel::text(const QModelIndexList& rows) const {
  QString lines;
  for (const QModelIndex& row : rows) {
    for (int column = 0; column < kAliveColumns; ++column)
      lines += (column > 0 ? "\t" : "") + row.siblingAtColumn(column).data().toString();
    lines += '\n';
  }
  return lines;
}

}  // namespace moeblaze::gui
