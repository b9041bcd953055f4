#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <vector>

#include "gui/models/alive_table.h"

namespace moeblaze::gui {

/// An AliveTable for a tree view: allocations, under their groups where there are any. Rows are handed out in batches
/// as the view scrolls; sorting is a new table's.
class AliveModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  static constexpr size_t kBatch = 1000;

  explicit AliveModel(QObject* parent = nullptr);

  void setTable(std::shared_ptr<const AliveTable> table);
  const std::shared_ptr<const AliveTable>& table() const { return table_; }
  /// The allocation of a row; nothing for a group.
  std::optional<size_t> allocationAt(const QModelIndex& index) const;
  /// Where an allocation is, handing out what it takes to get there; invalid when it is not in the table.
  QModelIndex indexOf(size_t allocation);
  /// Sizes are written in another unit.
  void refreshTexts();
  /// Rows as lines of tab-separated text.
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
  /// Rows under a parent, and how many of them were handed out.
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
