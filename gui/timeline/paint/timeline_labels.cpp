#include <string_view>

#include "gui/timeline/paint/canvas_painter.h"

namespace moeblaze::gui {
namespace {

constexpr double kMinWidth = 40, kMinHeight = 13;
constexpr size_t kMaxLabels = 300;

class LabelPainter : CanvasPainter {
 public:
  LabelPainter(QPainter& painter, const TimelineCanvas& canvas) : CanvasPainter(painter, canvas) {
    QFont small = canvas.font;
    small.setPointSizeF(small.pointSizeF() * 0.9);
    painter_.setFont(small);
  }

  void paint(const TimelineLayout::Area& area) {
    painter_.save();
    painter_.setClipRect(area.body);
    if (area.pane == Pane::stack) paintStack(area.body);
    if (area.pane == Pane::addresses) paintAddresses(area.body);
    if (area.pane == Pane::spans) paintSpans(area.body);
    painter_.restore();
  }

 private:
  void paintStack(const QRect& body) {
    const TimelineFrame& frame = *canvas_.frame;
    const ByteScale scale = canvas_.bytes(body);
    size_t labels = 0;
    for (const StackPolygon& polygon : frame.stack.polygons) {
      const Allocation& allocation = canvas_.document.trace().allocations[polygon.allocation];
      const double height = scale.heightOf(static_cast<double>(allocation.bytes));
      if (height < kMinHeight || labels == kMaxLabels) continue;
      size_t widest = 0;
      const auto width = [&](size_t i) { return polygon.endOfStep(i) - polygon.steps[i].column; };
      for (size_t i = 1; i < polygon.steps.size(); ++i)
        if (width(i) > width(widest)) widest = i;
      const double left = canvas_.xOfFrame(polygon.steps[widest].column);
      const double right = canvas_.xOfFrame(polygon.endOfStep(widest));
      const double top = yOf(body, polygon.steps[widest].bottomBytes + allocation.bytes);
      labels += label(body, {left, top, right - left, height}, allocationText(allocation), colorOf(allocation));
    }
  }

  void paintAddresses(const QRect& body) {
    size_t labels = 0;
    for (const AddressBox& box : canvas_.frame->boxes) {
      if (box.bottom - box.top < kMinHeight * canvas_.pixelRatio() || labels == kMaxLabels) continue;
      const Allocation& allocation = canvas_.document.trace().allocations[box.allocation];
      labels += label(body, rectOf(body, box), allocationText(allocation), colorOf(allocation));
    }
  }

  void paintSpans(const QRect& body) {
    const Trace& trace = canvas_.document.trace();
    for (const TimelineFrame::Lane& lane : canvas_.frame->lanes)
      for (const SpanBox& box : lane.boxes) {
        if (box.count > 1 || box.right - box.left < kMinWidth / 2) continue;
        const double left = canvas_.xOfFrame(box.left), right = canvas_.xOfFrame(box.right);
        const std::string& name = trace.strings[trace.spans[box.span].name];
        label(body,
              {left, body.top() + (lane.firstRow + box.row) * 1.0 * TimelineLayout::kSpanRow + 1, right - left,
               TimelineLayout::kSpanRow - 2.0},
              spanText(shortName(name), right - left), theme_.named(name));
      }
  }

  /// Leaves namespaces out if the name would not fit with them.
  QString spanText(const std::string& name, double width) const {
    const QString text = QString::fromStdString(name);
    const auto at = text.lastIndexOf("::");
    const bool fits = at < 0 || QFontMetricsF(painter_.font()).horizontalAdvance(text) <= width - 8;
    return fits ? text : text.mid(at + 2);
  }

  QString allocationText(const Allocation& allocation) const {
    const std::string& name = canvas_.document.trace().strings[allocation.name];
    const QString bytes = QString::fromStdString(bytesText(allocation.bytes));
    return name.empty() ? bytes : QString("%1  %2").arg(QString::fromStdString(shortName(name)), bytes);
  }

  /// Writes a text into the visible part of `box`. Returns false if that is too narrow.
  bool label(const QRect& body, QRectF box, const QString& text, const QColor& under) {
    box = box.intersected(body);
    if (box.width() < kMinWidth) return false;
    painter_.setPen(textOn(under));
    paintText(painter_, box.adjusted(4, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
    return true;
  }
};

}  // namespace

std::string shortName(const std::string& name) {
  constexpr std::string_view kReturns = "void ", kAnonymous = "(anonymous namespace)::";
  std::string text = name.starts_with(kReturns) ? name.substr(kReturns.size()) : name;
  for (size_t at = text.find(kAnonymous); at != std::string::npos; at = text.find(kAnonymous))
    text.erase(at, kAnonymous.size());
  const size_t end = text.find_first_of("<(", 1);
  return end == std::string::npos ? text : text.substr(0, end);
}

void paintLabels(QPainter& painter, const TimelineCanvas& canvas) {
  if (!canvas.frame || (!canvas.frame->index && canvas.view.track != TrackId::none)) return;
  LabelPainter labels(painter, canvas);
  for (const TimelineLayout::Area& area : canvas.layout.areas)
    if (!area.body.isEmpty() && canvas.frame->has(area.pane)) labels.paint(area);
}

}  // namespace moeblaze::gui
