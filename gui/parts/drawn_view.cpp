#include "gui/parts/drawn_view.h"

#include <QMouseEvent>
#include <QPainter>

#include "gui/units/units.h"

namespace moeblaze::gui {

DrawnView::DrawnView(QWidget* parent) : QWidget(parent) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  connect(&UnitFormat::shared(), &UnitFormat::changed, this, [this] { update(); });
}

void DrawnView::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  paint(painter, event->rect());
}

void DrawnView::mouseMoveEvent(QMouseEvent* event) { hover(event->position(), event->buttons()); }

void DrawnView::leaveEvent(QEvent*) { hover(std::nullopt, {}); }

}  // namespace moeblaze::gui
