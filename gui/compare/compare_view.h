#pragma once

#include "gui/compare/compare_picture.h"
#include "gui/parts/drawn_view.h"

namespace moeblaze::gui {

/// Shows a comparison: the wheel zooms, dragging moves, F shows everything.
class CompareView : public DrawnView {
  Q_OBJECT

 public:
  explicit CompareView(QWidget* parent = nullptr);

  /// Shows all of a comparison; null shows nothing.
  void setComparison(std::shared_ptr<const Comparison> comparison);
  /// The time window shown, on the time axis of A.
  const TimeWindow& window() const { return window_; }
  /// Shows a window, moved and shrunk into the bounds of the comparison.
  void setWindow(const TimeWindow& window);
  /// Shows everything.
  void fit();
  /// What is shown now, without the cursor, to be painted elsewhere.
  ComparePicture picture() const;

 protected:
  void paint(QPainter& painter, const QRect& visible) const override;
  void hover(const std::optional<QPointF>& place, Qt::MouseButtons pressed) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  TimeScale scale() const;
  double plotX(double x) const;

  std::shared_ptr<const Comparison> comparison_;
  TimeWindow window_;
  std::optional<int64_t> cursorNs_;
  double draggedFrom_ = 0;
};

}  // namespace moeblaze::gui
