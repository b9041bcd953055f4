#pragma once

#include <QApplication>
#include <QPainter>
#include <QStyledItemDelegate>

namespace moeblaze::gui {

/// Draws the rows of a table with some space between columns and lines, so that right-aligned numbers do not touch the
/// text that follows them.
class RowDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    return QStyledItemDelegate::sizeHint(option, index) + QSize(2 * kSide, kMoreHeight);
  }

  void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    QStyleOptionViewItem inner = option;
    initStyleOption(&inner, index);
    const QWidget* widget = option.widget;
    const QStyle* style = widget ? widget->style() : QApplication::style();
    style->drawPrimitive(QStyle::PE_PanelItemViewItem, &inner, painter, widget);  // the background of the whole cell
    inner.rect.adjust(0, 0, -kSide, 0);
    QStyledItemDelegate::paint(painter, inner, index);
  }

 private:
  static constexpr int kSide = 8, kMoreHeight = 6;
};

}  // namespace moeblaze::gui
