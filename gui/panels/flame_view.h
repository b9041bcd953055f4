#pragma once

#include <QWidget>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/flame_tree.h"

namespace moeblaze::gui {

/// A FlameTree as rows of boxes, the outermost function on top. A click shows a box and what it calls; Escape, the
/// right button or a click on a box above goes back.
class FlameView : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kRowHeight = 20;

  explicit FlameView(QWidget* parent = nullptr);

  void setTree(std::shared_ptr<const FlameTree> tree);
  /// Boxes whose function or file holds it stand out. Returns the bytes under them.
  int64_t setSearch(const QString& text);
  /// The box shown over the whole width; 0: everything.
  uint32_t zoomed() const { return zoomed_; }
  void zoomTo(uint32_t node);
  /// The box at a place; nothing beside them.
  std::optional<uint32_t> nodeAt(QPoint place) const;
  /// Where a box is drawn.
  QRectF boxOf(uint32_t node) const;
  /// One line that says what a box is.
  QString describe(uint32_t node) const;

  QSize sizeHint() const override;

 Q_SIGNALS:
  void zoomChanged();
  /// Empty when the mouse is over nothing.
  void hovered(const QString& text);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
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
