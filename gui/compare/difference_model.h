#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "gui/compare/comparison.h"

namespace moeblaze::gui {

/// The differences between two traces as a model for a table view. Sorting rearranges an index of the rows.
class DifferenceModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kWhat, kDelta, kAPeak, kBPeak, kACount, kBCount, kABytes, kBBytes, kColumns };

  using QAbstractTableModel::QAbstractTableModel;

  void setComparison(std::shared_ptr<const Comparison> comparison, Attribute attribute);
  const Difference& difference(int row) const { return all()[order_[static_cast<size_t>(row)]]; }
  /// Call this when sizes are to be written in another unit.
  void refreshTexts();

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  const std::vector<Difference>& all() const { return comparison_->differences(attribute_); }
  QString text(const Difference& difference, int column) const;
  void arrange();

  std::shared_ptr<const Comparison> comparison_;
  Attribute attribute_ = Attribute::name;
  std::vector<size_t> order_;
  int sorted_ = kDelta;
  Qt::SortOrder direction_ = Qt::DescendingOrder;
};

}  // namespace moeblaze::gui
