#include "gui/compare/difference_model.h"

#include <QColor>
#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "gui/compare/compare_colors.h"
#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

struct Header {
  const char *text, *tip;
};
constexpr std::array<Header, DifferenceModel::kColumns> kHeaders{{
    {"Name", "Of the buffers or tensors"},
    {"B − A", "What it adds to B's peak, less what it adds to A's"},
    {"A at its peak", "Alive at the instant of A's peak"},
    {"B at its peak", "Alive at the instant of B's peak"},
    {"A count", "Allocations in A, whenever"},
    {"B count", "Allocations in B, whenever"},
    {"A allocated", "Bytes of all of them together"},
    {"B allocated", "Bytes of all of them together"},
}};

int64_t number(const Difference& d, int column) {
  switch (column) {
    case DifferenceModel::kDelta:
      return d.peakDelta();
    case DifferenceModel::kAPeak:
      return d.a.peakBytes;
    case DifferenceModel::kBPeak:
      return d.b.peakBytes;
    case DifferenceModel::kACount:
      return d.a.count;
    case DifferenceModel::kBCount:
      return d.b.count;
    case DifferenceModel::kABytes:
      return d.a.bytes;
    default:
      return d.b.bytes;
  }
}

}  // namespace

void DifferenceModel::setComparison(std::shared_ptr<const Comparison> comparison, Attribute attribute) {
  beginResetModel();
  comparison_ = std::move(comparison);
  attribute_ = attribute;
  order_.resize(comparison_ ? all().size() : 0);
  arrange();
  endResetModel();
}

int DifferenceModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(order_.size());
}

int DifferenceModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QString DifferenceModel::text(const Difference& d, int column) const {
  const UnitFormat& units = UnitFormat::shared();
  if (column == kWhat) return QString::fromStdString(d.what);
  if (column == kACount || column == kBCount) return QString::fromStdString(countText(number(d, column)));
  if (column == kDelta) return d.peakDelta() == 0 ? QStringLiteral("0") : units.delta(d.peakDelta());
  const bool missing = (column == kAPeak || column == kABytes) ? d.onlyInB() : d.onlyInA();
  return missing ? QStringLiteral("—") : units.text(number(d, column));
}

QVariant DifferenceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const Difference& d = difference(index.row());
  switch (role) {
    case Qt::DisplayRole:
      return text(d, index.column());
    case Qt::TextAlignmentRole:
      return QVariant((index.column() == kWhat ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    case Qt::ForegroundRole:
      if (index.column() == kDelta && d.peakDelta() != 0) return d.peakDelta() > 0 ? kMoreColor : kLessColor;
      return {};
    case Qt::ToolTipRole:
      if (d.onlyInA()) return tr("Only in A");
      if (d.onlyInB()) return tr("Only in B");
      return text(d, index.column());
    default:
      return {};
  }
}

QVariant DifferenceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
  if (role == Qt::DisplayRole)
    return section == kWhat && attribute_ == Attribute::role ? tr("Role")
                                                             : tr(kHeaders[static_cast<size_t>(section)].text);
  if (role == Qt::ToolTipRole) return tr(kHeaders[static_cast<size_t>(section)].tip);
  if (role == Qt::TextAlignmentRole)
    return QVariant((section == kWhat ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
  return {};
}

void DifferenceModel::sort(int column, Qt::SortOrder order) {
  beginResetModel();
  sorted_ = column;
  direction_ = order;
  arrange();
  endResetModel();
}

void DifferenceModel::arrange() {
  std::iota(order_.begin(), order_.end(), size_t{0});
  const bool down = direction_ == Qt::DescendingOrder;
  std::ranges::stable_sort(order_, [&](size_t left, size_t right) {
    const Difference &l = all()[left], &r = all()[right];
    if (sorted_ == kWhat) return down ? l.what > r.what : l.what < r.what;
    // Differences are ordered by their size, whatever their sign.
    const int64_t a = sorted_ == kDelta ? std::abs(l.peakDelta()) : number(l, sorted_);
    const int64_t b = sorted_ == kDelta ? std::abs(r.peakDelta()) : number(r, sorted_);
    return down ? a > b : a < b;
  });
}

void DifferenceModel::refreshTexts() {
  if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

}  // namespace moeblaze::gui
