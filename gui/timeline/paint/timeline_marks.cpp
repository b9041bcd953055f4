#include <QRegion>

#include "gui/timeline/paint/canvas_painter.h"

namespace moeblaze::gui {
namespace {

class MarkPainter : CanvasPainter {
 public:
  MarkPainter(QPainter& painter, const TimelineCanvas& canvas) : CanvasPainter(painter, canvas) {
    painter_.setFont(canvas.font);
  }

  void paint() {
    QRegion bodies;
    for (const TimelineLayout::Area& area : layout_.areas) bodies += area.body;
    bodies &= QRect(0, layout_.axis.bottom() + 1, layout_.axis.right() + 1,
                    layout_.contentHeight);  // panes scrolled out of sight end there
    painter_.setClipRegion(bodies + QRect(0, 0, layout_.axis.right() + 20, layout_.axis.height()));
    clip_ = painter_.clipRegion();
    if (canvas_.view.range) paintRange(*canvas_.view.range);
    if (canvas_.view.allocation) paintAllocation(*canvas_.view.allocation);
    if (canvas_.view.track != TrackId::none) paintPeak();
    if (canvas_.view.instantNs) paintInstant(*canvas_.view.instantNs);
  }

 private:
  QRect panes() const { return {layout_.left(), layout_.axis.bottom() + 1, layout_.width(), layout_.contentHeight}; }

  void paintRange(const TimeWindow& range) {
    const QRectF all = panes();
    const double left = std::max(all.left(), canvas_.xOf(range.startNs));
    const double right = std::min(all.right(), canvas_.xOf(range.endNs));
    if (left >= right) return;
    QColor wash = theme_.accent();
    wash.setAlpha(44);
    const QRectF box(left, 0, right - left, all.bottom());
    painter_.fillRect(box, wash);
    painter_.setPen(theme_.accent());
    painter_.drawLine(QPointF(crisp(left), 0), QPointF(crisp(left), box.bottom()));
    painter_.drawLine(QPointF(crisp(right), 0), QPointF(crisp(right), box.bottom()));
    flag((left + right) / 2, 1, QString::fromStdString(durationText(range.spanNs())), theme_.accent(),
         Qt::AlignHCenter);
  }

  void paintPeak() {
    const auto events = canvas_.document.events(canvas_.view.track);
    const TimelineLayout::Area* area = layout_.find(Pane::memory);
    if (!events || events->pointCount() == 0 || !area || !canvas_.frame) return;
    const MemoryCurve::Point peak = events->peak();
    const QString bytes = QString::fromStdString(bytesText(peak.bytes));
    const QRect& body = area->body;
    const double x = canvas_.xOf(peak.timeNs);
    if (x < body.left() || x > body.right()) {
      const bool isLeft = x < body.left();
      const QString text = isLeft ? QString("◂ peak %1").arg(bytes) : QString("peak %1 ▸").arg(bytes);
      flag(isLeft ? body.left() + 4 : body.right() - 4, body.top() + 4, text, theme_.peak(),
           isLeft ? Qt::AlignLeft : Qt::AlignRight);
      return;
    }
    const double y = yOf(body, peak.bytes);
    painter_.setPen(QPen(theme_.peak(), 1, Qt::DashLine));
    painter_.drawLine(QPointF(crisp(x), y), QPointF(crisp(x), body.bottom()));
    if (const TimelineLayout::Area* stack = layout_.find(Pane::stack))
      painter_.drawLine(QPointF(crisp(x), stack->body.top()), QPointF(crisp(x), stack->body.bottom()));
    dot(x, y, theme_.peak());
    const bool flips = x > body.left() + body.width() * 0.7;
    const double labelY = std::max<double>(body.top() + 3, y - QFontMetricsF(painter_.font()).height() / 2 - 3);
    flag(flips ? x - 9 : x + 9, labelY, QString("peak %1 at %2").arg(bytes, canvas_.timeLabel(peak.timeNs)),
         theme_.peak(), flips ? Qt::AlignRight : Qt::AlignLeft);
  }

  void paintInstant(int64_t timeNs) {
    const double x = canvas_.xOf(timeNs);
    const QRectF all = panes();
    if (x < all.left() || x > all.right()) return;
    painter_.setPen(QPen(theme_.text(), 1));
    painter_.drawLine(QPointF(crisp(x), layout_.axis.bottom() - 6), QPointF(crisp(x), all.bottom()));
    flag(x, 1, canvas_.timeLabel(timeNs), theme_.text(), Qt::AlignHCenter);
    const TimelineLayout::Area* area = layout_.find(Pane::memory);
    const auto events = canvas_.view.track == TrackId::none ? nullptr : canvas_.document.events(canvas_.view.track);
    if (!area || !canvas_.frame || !events) return;
    const int64_t bytes = events->bytesAt(timeNs);
    const double y = yOf(area->body, bytes);
    dot(x, y, theme_.text());
    if (timeNs == events->peak().timeNs) return;  // the flag of the peak already says it
    const bool flips = x > area->body.left() + area->body.width() * 0.8;
    flag(flips ? x - 9 : x + 9, std::min(y + 4, area->body.bottom() - 22.0), QString::fromStdString(bytesText(bytes)),
         theme_.text(), flips ? Qt::AlignRight : Qt::AlignLeft);
  }

  void paintAllocation(size_t at) {
    const std::vector<Allocation>& all = canvas_.document.trace().allocations;
    if (at >= all.size() || !canvas_.frame) return;
    painter_.save();
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setBrush(Qt::NoBrush);
    if (const TimelineLayout::Area* area = layout_.find(Pane::memory)) outlineLife(area->body, all[at]);
    if (const TimelineLayout::Area* area = layout_.find(Pane::stack)) outlineStack(area->body, at);
    if (const TimelineLayout::Area* area = layout_.find(Pane::addresses)) outlineBox(area->body, at);
    painter_.restore();
  }

  /// Marks the lifetime of the allocation with a bar at the bottom of the bands.
  void outlineLife(const QRect& body, const Allocation& allocation) {
    if (allocation.track != canvas_.view.track) return;
    const double left = std::max<double>(body.left(), canvas_.xOf(allocation.allocNs));
    const double right =
        allocation.freeNs == kNever ? body.right() : std::min<double>(body.right(), canvas_.xOf(allocation.freeNs));
    if (left > right) return;
    painter_.fillRect(QRectF(left, body.bottom() - 3, std::max(2.0, right - left), 4), theme_.accent());
  }

  void outlineStack(const QRect& body, size_t at) {
    const auto& polygons = canvas_.frame->stack.polygons;
    const auto found = std::ranges::find(polygons, static_cast<uint32_t>(at), &StackPolygon::allocation);
    if (found != polygons.end()) outline(body, outlineOf(body, *found));
  }

  void outlineBox(const QRect& body, size_t at) {
    const auto& boxes = canvas_.frame->boxes;
    const auto found = std::ranges::find(boxes, static_cast<uint32_t>(at), &AddressBox::allocation);
    if (found != boxes.end()) outline(body, rectOf(body, *found));
  }

  /// A dark line on a light one, visible on any band.
  void outline(const QRect& body, const QPolygonF& polygon) {
    painter_.setClipRegion(clip_ & body);
    painter_.setPen(QPen(theme_.background(), 4));
    painter_.drawPolygon(polygon);
    painter_.setPen(QPen(theme_.text(), 2));
    painter_.drawPolygon(polygon);
    painter_.setClipRegion(clip_);
  }

  void dot(double x, double y, const QColor& color) {
    painter_.save();
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(QPen(theme_.background(), 1.5));
    painter_.setBrush(color);
    painter_.drawEllipse(QPointF(x, y), 4, 4);
    painter_.restore();
  }

  /// Writes a text on a plate of `color`, to the right of `x`, to the left of it or around it, kept within the panes.
  void flag(double x, double y, const QString& text, const QColor& color, Qt::AlignmentFlag side) {
    const QFontMetricsF metrics(painter_.font());
    const double width = metrics.horizontalAdvance(text) + 12;
    double left = side == Qt::AlignLeft ? x : side == Qt::AlignRight ? x - width : x - width / 2;
    left = std::clamp(left, static_cast<double>(layout_.left()),
                      std::max<double>(layout_.left(), layout_.axis.right() - width));
    const QRectF box(left, y, width, metrics.height() + 4);
    painter_.save();
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(color);
    painter_.drawRoundedRect(box, 3, 3);
    painter_.setPen(textOn(color));
    painter_.drawText(box, Qt::AlignCenter, text);
    painter_.restore();
  }

  QRegion clip_;
};

}  // namespace

void paintMarks(QPainter& painter, const TimelineCanvas& canvas) {
  painter.save();
  MarkPainter(painter, canvas).paint();
  painter.restore();
}

}  // namespace moeblaze::gui
