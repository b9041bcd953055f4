#include "gui/compare/compare_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>

#include "gui/parts/time_moves.h"

namespace moeblaze::gui {

CompareView::CompareView(QWidget* parent) : DrawnView(parent) { setMinimumHeight(160); }

void CompareView::setComparison(std::shared_ptr<const Comparison> comparison) {
  comparison_ = std::move(comparison);
  cursorNs_.reset();
  fit();
}

void CompareView::setWindow(const TimeWindow& window) {
  window_ = comparison_ ? clamped(window, comparison_->bounds()) : window;
  update();
}

void CompareView::fit() { setWindow(comparison_ ? comparison_->bounds() : TimeWindow{}); }

ComparePicture CompareView::picture() const { return {comparison_, window_, std::nullopt, palette(), font()}; }

TimeScale CompareView::scale() const { return {window_, CompareLayout(size(), font()).curves.width()}; }

double CompareView::plotX(double x) const { return x - CompareLayout(size(), font()).curves.left(); }

void CompareView::paint(QPainter& painter, const QRect&) const {
  ComparePicture shown = picture();
  shown.cursorNs = cursorNs_;
  paintComparison(painter, size(), shown);
}

void CompareView::wheelEvent(QWheelEvent* event) {
  event->accept();
  if (!comparison_) return;
  if (const auto window =
          windowAfterWheel(event->angleDelta(), scale(), plotX(event->position().x()), comparison_->bounds()))
    setWindow(*window);
}

void CompareView::mousePressEvent(QMouseEvent* event) { draggedFrom_ = event->position().x(); }

void CompareView::hover(const std::optional<QPointF>& place, Qt::MouseButtons pressed) {
  cursorNs_.reset();
  if (place && comparison_) {
    if (pressed & Qt::LeftButton) {
      setWindow(scale().panned(draggedFrom_ - place->x(), comparison_->bounds()));
      draggedFrom_ = place->x();
    }
    if (plotX(place->x()) >= 0) cursorNs_ = scale().timeAt(plotX(place->x()));
  }
  update();
}

void CompareView::keyPressEvent(QKeyEvent* event) {
  if (!comparison_) return QWidget::keyPressEvent(event);
  if (event->key() == Qt::Key_F) return fit();
  const int key = event->key() == Qt::Key_Plus ? Qt::Key_W : event->key() == Qt::Key_Minus ? Qt::Key_S : event->key();
  const TimeScale now = scale();
  if (const auto window = windowAfterKey(key, now, now.width() / 2.0, comparison_->bounds())) return setWindow(*window);
  QWidget::keyPressEvent(event);
}

}  // namespace moeblaze::gui
