#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <vector>

#include "gui/models/alive_table.h"

namespace moeblaze::gui {

/// Presents an AliveTable to a tree view: allocations, below their groups if the table has groups. Rows are handed to
/// the view in batches as it scrolls. Sorting needs a new table.
class AliveModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  static constexpr size_t kBatch = 1000;

  explicit AliveModel(QObject* parent = nullptr);

  /// Shows another table from its first rows on; null shows nothing.
  void setTable(std::shared_ptr<const AliveTable> table);
  const std::shared_ptr<const AliveTable>& table() const { return table_; }
  /// The allocation of a row; nothing for a group's row.
  std::optional<size_t> allocationAt(const QModelIndex& index) const;
  /// The row of an allocation; hands out as many rows as it takes to reach it. Invalid if the table does not hold it.
  QModelIndex indexOf(size_t allocation);
  /// Call this when sizes are to be written in another unit.
  void refreshTexts();
  /// The rows as lines of tab-separated text.
  QString text(const QModelIndexList& rows) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  bool canFetchMore(const QModelIndex& parent) const override;
  void fetchMore(const QModelIndex& parent) override;
  bool hasChildren(const QModelIndex& parent = {}) const override;

 private:
  bool isGrouped() const { return table_ && table_->query().grouping.has_value(); }
  /// allRows() counts the rows below a parent, fetched() those of them that the view has been given.
  size_t allRows(const QModelIndex& parent) const;
  size_t& fetched(const QModelIndex& parent);
  void fetch(const QModelIndex& parent, size_t count);
  size_t tableRow(const QModelIndex& index) const;
  QString groupText(size_t group, AliveColumn column) const;
  QString allocationText(const Allocation& allocation, AliveColumn column) const;

  std::shared_ptr<const AliveTable> table_;
  size_t topFetched_ = 0;
  std::vector<size_t> groupFetched_;
};

}  // namespace moeblaze::gui
