#include "gui/compare/compare_view.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <cmath>

#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

constexpr double kKeyZoom = 1.5, kKeyPan = 0.15, kWheelZoom = 1.25;

}  // namespace

CompareView::CompareView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setMinimumHeight(160);
  connect(&UnitFormat::shared(), &UnitFormat::changed, this, [this] { update(); });
}

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

void CompareView::zoom(double x, double factor) {
  if (comparison_) setWindow(scale().zoomed(x, factor, comparison_->bounds()));
}

void CompareView::pan(double pixels) {
  if (comparison_) setWindow(scale().panned(pixels, comparison_->bounds()));
}

void CompareView::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  ComparePicture shown = picture();
  shown.cursorNs = cursorNs_;
  paintComparison(painter, size(), shown);
}

void CompareView::wheelEvent(QWheelEvent* event) {
  const QPointF turned = event->angleDelta();
  if (std::abs(turned.x()) > std::abs(turned.y()))
    pan(-turned.x());
  else
    zoom(plotX(event->position().x()), std::pow(kWheelZoom, -turned.y() / 120));
  event->accept();
}

void CompareView::mousePressEvent(QMouseEvent* event) { draggedFrom_ = event->position().x(); }

void CompareView::mouseMoveEvent(QMouseEvent* event) {
  const double x = event->position().x();
  if (event->buttons() & Qt::LeftButton) {
    pan(draggedFrom_ - x);
    draggedFrom_ = x;
  }
  cursorNs_ = plotX(x) >= 0 && comparison_ ? std::optional(scale().timeAt(plotX(x))) : std::nullopt;
  update();
}

void CompareView::leaveEvent(QEvent*) {
  cursorNs_.reset();
  update();
}

void CompareView::keyPressEvent(QKeyEvent* event) {
  const double width = scale().width();
  switch (event->key()) {
    case Qt::Key_F:
      return fit();
    case Qt::Key_W:
    case Qt::Key_Plus:
      return zoom(width / 2, 1 / kKeyZoom);
    case Qt::Key_S:
    case Qt::Key_Minus:
      return zoom(width / 2, kKeyZoom);
    case Qt::Key_A:
    case Qt::Key_Left:
      return pan(-kKeyPan * width);
    case Qt::Key_D:
    case Qt::Key_Right:
      return pan(kKeyPan * width);
    default:
      QWidget::keyPressEvent(event);
  }
}

}  // namespace moeblaze::gui
