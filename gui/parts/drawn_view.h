#pragma once

#include <QPointF>
#include <QWidget>
#include <optional>

namespace moeblaze::gui {

/// A widget that paints its own contents, follows the mouse without a button pressed, and takes keys. It is painted
/// again when sizes are written in another unit.
class DrawnView : public QWidget {
 public:
  explicit DrawnView(QWidget* parent = nullptr);

 protected:
  /// Paints at least the part `visible` of the widget.
  virtual void paint(QPainter& painter, const QRect& visible) const = 0;
  /// The mouse moved to `place` with the buttons `pressed`, or left the widget if there is no place.
  virtual void hover(const std::optional<QPointF>& place, Qt::MouseButtons pressed) = 0;

  void paintEvent(QPaintEvent* event) final;
  void mouseMoveEvent(QMouseEvent* event) final;
  void leaveEvent(QEvent* event) final;
};

}  // namespace moeblaze::gui
