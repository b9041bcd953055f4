#include <string_view>

#include "gui/timeline/paint/timeline_canvas.h"

namespace moeblaze::gui {
namespace {

constexpr double kLeastWidth = 40, kLeastHeight = 13;
constexpr size_t kMostLabels = 300;

/// Black or white, whichever can be read on it.
QColor onColor(const QColor& color) { return qGray(color.rgb()) > 140 ? QColor(0x18, 0x1c, 0x22) : QColor(Qt::white); }

class LabelPainter {
 public:
  LabelPainter(QPainter& painter, const TimelineCanvas& canvas) : painter_(painter), canvas_(canvas) {
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
      if (height < kLeastHeight || labels == kMostLabels) continue;
      size_t widest = 0;
      const auto end = [&](size_t i) {
        return i + 1 < polygon.steps.size() ? polygon.steps[i + 1].column : polygon.endColumn;
      };
      for (size_t i = 1; i < polygon.steps.size(); ++i)
        if (end(i) - polygon.steps[i].column > end(widest) - polygon.steps[widest].column) widest = i;
      const double left = canvas_.xOfFrame(polygon.steps[widest].column), right = canvas_.xOfFrame(end(widest));
      const double top =
          body.top() + scale.yOf(static_cast<double>(polygon.steps[widest].bottomBytes + allocation.bytes));
      labels += label(body, {left, top, right - left, height}, allocationText(allocation), colorOf(allocation));
    }
  }

  void paintAddresses(const QRect& body) {
    size_t labels = 0;
    const double ratio = canvas_.pixelRatio();
    for (const AddressBox& box : canvas_.frame->boxes) {
      if (box.bottom - box.top < kLeastHeight * ratio || labels == kMostLabels) continue;
      const Allocation& allocation = canvas_.document.trace().allocations[box.allocation];
      const double left = canvas_.xOfFrame(box.left), right = canvas_.xOfFrame(box.right);
      labels += label(body, {left, body.top() + box.top / ratio, right - left, (box.bottom - box.top) / ratio},
                      allocationText(allocation), colorOf(allocation));
    }
  }

  void paintSpans(const QRect& body) {
    const Trace& trace = canvas_.document.trace();
    for (const TimelineFrame::Lane& lane : canvas_.frame->lanes)
      for (const SpanBox& box : lane.boxes) {
        if (box.count > 1 || box.right - box.left < kLeastWidth / 2) continue;
        const double left = canvas_.xOfFrame(box.left), right = canvas_.xOfFrame(box.right);
        const std::string& name = trace.strings[trace.spans[box.span].name];
        label(body,
              {left, body.top() + (lane.firstRow + box.row) * 1.0 * TimelineLayout::kSpanRow + 1, right - left,
               TimelineLayout::kSpanRow - 2.0},
              spanText(shortName(name), right - left), canvas_.theme.named(name));
      }
  }

  /// Without namespaces where those would leave no room for the name.
  QString spanText(const std::string& name, double width) const {
    const QString text = QString::fromStdString(name);
    const auto at = text.lastIndexOf("::");
    const bool fits = at < 0 || QFontMetricsF(painter_.font()).horizontalAdvance(text) <= width - 8;
    return fits ? text : text.mid(at + 2);
  }

  QColor colorOf(const Allocation& allocation) const {
    const size_t band = canvas_.frame->index->categoryOf(allocation);
    return canvas_.theme.band(canvas_.frame->index->categories()[band], band);
  }

  QString allocationText(const Allocation& allocation) const {
    const std::string& name = canvas_.document.trace().strings[allocation.name];
    const QString bytes = QString::fromStdString(bytesText(allocation.bytes));
    return name.empty() ? bytes : QString("%1  %2").arg(QString::fromStdString(shortName(name)), bytes);
  }

  /// Within the visible part of `box`; false when that is too narrow.
  bool label(const QRect& body, QRectF box, const QString& text, const QColor& under) {
    box = box.intersected(body);
    if (box.width() < kLeastWidth) return false;
    painter_.setPen(onColor(under));
    paintText(painter_, box.adjusted(4, 0, -4, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
    return true;
  }

  QPainter& painter_;
  const TimelineCanvas& canvas_;
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
