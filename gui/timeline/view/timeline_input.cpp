#include <QApplication>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include "gui/parts/time_moves.h"
#include "gui/timeline/view/timeline_hits.h"
#include "gui/timeline/view/timeline_view.h"

namespace moeblaze::gui {

void TimelineView::wheelEvent(QWheelEvent* event) {
  const QPointF at = event->position();
  const bool isOnLabels = at.x() < layout_.left();
  if (isOnLabels || event->modifiers().testFlag(Qt::ShiftModifier)) return QAbstractScrollArea::wheelEvent(event);
  event->accept();
  if (!state_->document()) return;
  const auto window =
      windowAfterWheel(event->angleDelta(), canvas().scale(), at.x() - layout_.left(), state_->document()->bounds());
  if (window) state_->setWindow(*window, ViewState::Undo::gesture);
}

void TimelineView::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !state_->document()) return;
  pressed_ = event->position().toPoint();
  pressedWindow_ = state_->view().window;
  pressedSizes_ = sizes_;
  const TimelineLayout::Area* area = layout_.at(pressed_.y());
  if (const auto edge = layout_.edgeAt(pressed_.y())) {
    edge_ = *edge;
    drag_ = Drag::edge;
  } else if (area && area->heading.contains(pressed_)) {
    toggle(*area);
  } else if (layout_.axis.contains(pressed_) || event->modifiers().testFlag(Qt::ShiftModifier)) {
    drag_ = Drag::range;
  } else if (pressed_.x() >= layout_.left()) {
    drag_ = Drag::press;
  }
}

void TimelineView::mouseMoveEvent(QMouseEvent* event) {
  if (!state_->document()) return;
  if (drag_ == Drag::none)
    hover(event->position().toPoint(), event->globalPosition().toPoint());
  else
    drag(event->position().toPoint());
}

void TimelineView::drag(const QPoint& to) {
  const bool hasMoved = (to - pressed_).manhattanLength() >= QApplication::startDragDistance();
  if (drag_ == Drag::press && hasMoved) {
    drag_ = Drag::pan;
    viewport()->setCursor(Qt::ClosedHandCursor);
    QToolTip::hideText();
  }
  if (drag_ == Drag::pan) {
    const TimeScale from(pressedWindow_, layout_.width());
    state_->setWindow(from.panned(pressed_.x() - to.x(), state_->document()->bounds()), ViewState::Undo::gesture);
  } else if (drag_ == Drag::range && hasMoved) {
    selectTo(to.x());
  } else if (drag_ == Drag::edge) {
    const auto upper = static_cast<size_t>(layout_.areas[edge_].pane);
    const auto lower = static_cast<size_t>(layout_.areas[edge_ + 1].pane);
    const double sum = pressedSizes_.weights[upper] + pressedSizes_.weights[lower];
    const double pixels = layout_.areas[edge_].body.height() + layout_.areas[edge_ + 1].body.height();
    const double start = pressedSizes_.weights[upper] / sum;
    const double share = std::clamp(start + (to.y() - pressed_.y()) / std::max(1.0, pixels), 0.1, 0.9);
    sizes_.weights[upper] = sum * share;
    sizes_.weights[lower] = sum * (1 - share);
    relayOut();
  }
}

void TimelineView::selectTo(int x) {
  const TimeWindow& bounds = state_->document()->bounds();
  const auto at = [&](int place) { return std::clamp(canvas().timeAt(place), bounds.startNs, bounds.endNs); };
  const int64_t a = at(pressed_.x()), b = at(x);
  if (a != b) state_->setRange(TimeWindow{std::min(a, b), std::max(a, b)});
}

void TimelineView::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  const Drag ended = std::exchange(drag_, Drag::none);
  viewport()->unsetCursor();
  if (!state_->document()) return;
  const QPoint at = event->position().toPoint();
  const bool hasMoved = (at - pressed_).manhattanLength() >= QApplication::startDragDistance();
  if (ended == Drag::press) click(at);
  if (ended == Drag::range && !hasMoved) state_->setRange(std::nullopt);
}

void TimelineView::click(const QPoint& at) {
  if (!isOfDocument()) return;
  const TimelineHit hit = hitTimeline(canvas(), at);
  if (hit.pane == Pane::stack || hit.pane == Pane::addresses) state_->setAllocation(hit.allocation);
  // Takes the instant of the column's maximum, so that a peak narrower than a pixel can be chosen.
  const bool isOfColumn = hit.pane == Pane::memory || hit.pane == Pane::stack;
  state_->setInstant(isOfColumn && hit.column ? frame_->frame.memory[*hit.column].maxNs : hit.timeNs);
}

void TimelineView::hover(const QPoint& at, const QPoint& global) {
  viewport()->setCursor(layout_.edgeAt(at.y())      ? Qt::SizeVerCursor
                        : layout_.axis.contains(at) ? Qt::IBeamCursor
                                                    : Qt::ArrowCursor);
  const TimelineCanvas shown = canvas();
  const QString text = describe(shown, hitTimeline(shown, at));
  if (text.isEmpty())
    QToolTip::hideText();
  else
    QToolTip::showText(global + QPoint(12, 12), text, viewport());
}

void TimelineView::toggle(const TimelineLayout::Area& area) {
  bool& collapsed = sizes_.collapsed[static_cast<size_t>(area.pane)];
  collapsed = !collapsed;
  relayOut();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
  if (!state_->document()) return QAbstractScrollArea::keyPressEvent(event);
  if (event->matches(QKeySequence::Undo)) return state_->undo();
  if (event->matches(QKeySequence::Redo)) return state_->redo();
  if (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier | Qt::MetaModifier))
    return QAbstractScrollArea::keyPressEvent(event);
  const QPoint mouse = viewport()->mapFromGlobal(QCursor::pos());
  const bool isOver = viewport()->rect().contains(mouse) && mouse.x() >= layout_.left();
  const double x = isOver ? mouse.x() - layout_.left() : layout_.width() / 2.0;
  if (const auto window = windowAfterKey(event->key(), canvas().scale(), x, state_->document()->bounds()))
    return state_->setWindow(*window, ViewState::Undo::gesture);
  switch (event->key()) {
    case Qt::Key_F:
      return state_->fit();
    case Qt::Key_M:
      return state_->goToPeak();
    case Qt::Key_BracketLeft:
      return state_->stepEvent(-1);
    case Qt::Key_BracketRight:
      return state_->stepEvent(1);
    case Qt::Key_Escape:
      state_->setRange(std::nullopt);
      return state_->setAllocation(std::nullopt);
    default:
      return QAbstractScrollArea::keyPressEvent(event);
  }
}

}  // namespace moeblaze::gui
