#pragma once

#include <QWidget>

#include "gui/compare/compare_picture.h"

namespace moeblaze::gui {

/// A comparison to look at: the wheel zooms, dragging moves, F shows everything.
class CompareView : public QWidget {
  Q_OBJECT

 public:
  explicit CompareView(QWidget* parent = nullptr);

  void setComparison(std::shared_ptr<const Comparison> comparison);
  const TimeWindow& window() const { return window_; }
  void setWindow(const TimeWindow& window);
  void fit();
  /// What is shown, to paint it elsewhere.
  ComparePicture picture() const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
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
