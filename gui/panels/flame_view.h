#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/flame_tree.h"
#include "gui/parts/drawn_view.h"

namespace moeblaze::gui {

/// Shows a FlameTree as rows of boxes, with the outermost function at the top. A click on a box shows it and what it
/// calls over the whole width. Escape, the right button or a click on a box further up leads back.
class FlameView : public DrawnView {
  Q_OBJECT

 public:
  static constexpr int kRowHeight = 20;

  explicit FlameView(QWidget* parent = nullptr);

  /// Shows all of a tree; null shows nothing.
  void setTree(std::shared_ptr<const FlameTree> tree);
  /// Highlights the boxes whose function or file contains `text`, and returns the bytes under them.
  int64_t setSearch(const QString& text);
  /// The node that takes the whole width; 0 for the root.
  uint32_t zoomed() const { return zoomed_; }
  /// Shows a node and what it calls over the whole width; 0 shows everything.
  void zoomTo(uint32_t node);
  /// The node at a place of the widget; nothing where there is no box.
  std::optional<uint32_t> nodeAt(QPoint place) const;
  /// The rectangle of a node's box in the widget.
  QRectF boxOf(uint32_t node) const;
  /// One line of text that says what a node is.
  QString describe(uint32_t node) const;

  QSize sizeHint() const override;

 Q_SIGNALS:
  void zoomChanged();
  /// The node under the mouse in words; empty if there is none.
  void hovered(const QString& text);

 protected:
  void paint(QPainter& painter, const QRect& visible) const override;
  void hover(const std::optional<QPointF>& place, Qt::MouseButtons pressed) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  void paintNode(QPainter& painter, uint32_t node, const QRect& visible) const;
  double xOf(int64_t byte) const;

  std::shared_ptr<const FlameTree> tree_;
  uint32_t zoomed_ = 0;
  std::optional<uint32_t> hovered_;
  std::string search_;
  std::vector<bool> found_;
};

}  // namespace moeblaze::gui
