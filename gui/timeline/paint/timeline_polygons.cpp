#include "gui/timeline/paint/canvas_painter.h"

namespace moeblaze::gui {
namespace {

class PolygonPainter : CanvasPainter {
 public:
  PolygonPainter(QPainter& painter, const TimelineCanvas& canvas)
      : CanvasPainter(painter, canvas), frame_(*canvas.frame) {}

  void paint(const TimelineLayout::Area& area) {
    painter_.save();
    painter_.setClipRect(area.body);
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(Qt::NoPen);
    body_ = area.body;
    if (area.pane == Pane::memory && frame_.index) paintMemory();
    if (area.pane == Pane::stack) paintStack();
    if (area.pane == Pane::addresses) paintAddresses();
    if (area.pane == Pane::spans) paintSpans();
    painter_.restore();
  }

 private:
  double y(int64_t bytes) const { return yOf(body_, bytes); }

  /// The step line of a value along the columns, with points only where the value changes.
  template <typename Value>
  QPolygonF steps(Value value) const {
    QPolygonF points;
    const auto columns = static_cast<int>(frame_.memory.size());
    for (int x = 0; x < columns; ++x) {
      const int64_t bytes = value(static_cast<size_t>(x));
      if (x > 0 && bytes == value(static_cast<size_t>(x) - 1)) continue;
      if (x > 0) points << QPointF(canvas_.xOfFrame(x), y(value(static_cast<size_t>(x) - 1)));
      points << QPointF(canvas_.xOfFrame(x), y(bytes));
    }
    if (columns > 0) points << QPointF(canvas_.xOfFrame(columns), y(value(static_cast<size_t>(columns) - 1)));
    return points;
  }

  void paintLine(const std::vector<MemoryColumn>& columns, const QColor& color, double width) {
    if (columns.empty()) return;
    painter_.setBrush(Qt::NoBrush);
    painter_.setPen(QPen(color, width, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
    painter_.drawPolyline(steps([&](size_t x) { return columns[x].maxBytes; }));
    painter_.setPen(Qt::NoPen);
  }

  void paintMemory() {
    std::vector<int64_t> below(frame_.memory.size());
    for (size_t band = 0; band < frame_.index->categories().size(); ++band) {
      QPolygonF area = steps([&](size_t x) { return below[x] + frame_.memory[x].atMax[band]; });
      QPolygonF lower = steps([&](size_t x) { return below[x]; });
      std::ranges::reverse(lower);
      painter_.setBrush(theme_.band(frame_.index->categories()[band], band));
      painter_.drawPolygon(area + lower);
      for (size_t x = 0; x < below.size(); ++x) below[x] += frame_.memory[x].atMax[band];
    }
    paintLine(frame_.reserved, theme_.reserved(), 1.2);
    paintLine(frame_.memory, theme_.total(), 1);
    paintLine(frame_.overlay, theme_.overlay(), 1.8);
  }

  void paintStack() {
    const std::vector<Allocation>& all = canvas_.document.trace().allocations;
    for (const StackPolygon& polygon : frame_.stack.polygons) {
      const Allocation& allocation = all[polygon.allocation];
      const QColor color = colorOf(allocation);
      painter_.setBrush(color);
      painter_.setPen(QPen(TimelineTheme::mixed(color, theme_.text(), 0.35), 0.4));
      painter_.drawPolygon(outlineOf(body_, polygon));
    }
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(theme_.other());
    QPolygonF upper = steps([&](size_t x) { return frame_.memory[x].maxBytes; });
    QPolygonF lower = steps([&](size_t x) { return frame_.memory[x].maxBytes - frame_.stack.otherBytes[x]; });
    std::ranges::reverse(lower);
    painter_.drawPolygon(upper + lower);
    paintLine(frame_.memory, theme_.total(), 1);
  }

  void paintAddresses() {
    for (const AddressBox& box : frame_.boxes)
      painter_.fillRect(rectOf(body_, box), colorOf(canvas_.document.trace().allocations[box.allocation]));
  }

  void paintSpans() {
    const Trace& trace = canvas_.document.trace();
    for (const TimelineFrame::Lane& lane : frame_.lanes)
      for (const SpanBox& box : lane.boxes) {
        QColor color = theme_.named(trace.strings[trace.spans[box.span].name]);
        if (box.count > 1) color = TimelineTheme::mixed(color, theme_.faintText(), 0.35);
        const double left = canvas_.xOfFrame(box.left), right = canvas_.xOfFrame(box.right);
        const double top = body_.top() + (lane.firstRow + box.row) * TimelineLayout::kSpanRow + 1.5;
        painter_.fillRect(QRectF(left, top, right - left, TimelineLayout::kSpanRow - 2.5), color);
      }
  }

  const TimelineFrame& frame_;
  QRect body_;
};

}  // namespace

void paintPolygons(QPainter& painter, const TimelineCanvas& canvas) {
  if (!canvas.frame) return;
  PolygonPainter polygons(painter, canvas);
  for (const TimelineLayout::Area& area : canvas.layout.areas)
    if (!area.body.isEmpty() && canvas.frame->has(area.pane)) polygons.paint(area);
}

}  // namespace moeblaze::gui
