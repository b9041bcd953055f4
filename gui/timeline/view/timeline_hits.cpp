#include "gui/timeline/view/timeline_hits.h"

#include <algorithm>

namespace moeblaze::gui {
namespace {

constexpr size_t kShownFrames = 5;

std::optional<size_t> bandAt(const MemoryColumn& column, double bytes) {
  int64_t top = 0;
  for (size_t band = 0; band < kMaxCategories; ++band) {
    top += column.atMax[band];
    if (bytes >= 0 && bytes < static_cast<double>(top)) return band;
  }
  return std::nullopt;
}

std::optional<size_t> polygonAt(const TimelineFrame& frame, int column, double bytes) {
  const std::vector<Allocation>& all = frame.query.document->trace().allocations;
  for (const StackPolygon& polygon : frame.stack.polygons) {
    if (polygon.steps.front().column > column || column >= polygon.endColumn) continue;
    const auto after = std::ranges::upper_bound(polygon.steps, column, {}, &StackPolygon::Step::column);
    const double bottom = static_cast<double>((after - 1)->bottomBytes);
    if (bottom <= bytes && bytes < bottom + static_cast<double>(all[polygon.allocation].bytes))
      return polygon.allocation;
  }
  return std::nullopt;
}

const SpanBox* spanAt(const TimelineFrame& frame, double x, int row) {
  for (const TimelineFrame::Lane& lane : frame.lanes)
    for (const SpanBox& box : lane.boxes)
      if (lane.firstRow + box.row == row && box.left <= x && x < std::max(box.right, box.left + 1)) return &box;
  return nullptr;
}

/// An HTML table of two columns.
class Table {
 public:
  void add(const QString& what, const QString& value) {
    rows_ += QString("<tr><td style='padding-right:10px'>%1</td><td align='right'>%2</td></tr>").arg(what, value);
  }
  QString text(const QString& title) const {
    return QString("<b>%1</b><table cellspacing='0'>%2</table>").arg(title.toHtmlEscaped(), rows_);
  }

 private:
  QString rows_;
};

QString text(const std::string& bytes) { return QString::fromStdString(bytes).toHtmlEscaped(); }

QString describeColumn(const TimelineCanvas& canvas, const TimelineHit& hit) {
  const MemoryColumn& column = canvas.frame->memory[*hit.column];
  Table table;
  for (size_t i = canvas.frame->index->categories().size(); i-- > 0;) {
    if (column.atMax[i] == 0) continue;
    const Category& category = canvas.frame->index->categories()[i];
    const QString format = hit.band == i ? "<b>%1</b>" : "%1";
    const QString swatch = QString("<span style='color:%1'>■</span> ").arg(canvas.theme.band(category, i).name());
    table.add(swatch + format.arg(text(category.name)), format.arg(text(bytesText(column.atMax[i]))));
  }
  if (column.minBytes < column.maxBytes) table.add("least within this pixel", text(bytesText(column.minBytes)));
  if (*hit.column < canvas.frame->reserved.size())
    table.add("reserved", text(bytesText(canvas.frame->reserved[*hit.column].maxBytes)));
  if (*hit.column < canvas.frame->overlay.size() && canvas.view.overlay.document) {
    const TrackRef& overlay = canvas.view.overlay;
    table.add(text(overlay.document->trace().tracks[index(overlay.track)].name),
              text(bytesText(canvas.frame->overlay[*hit.column].maxBytes)));
  }
  return table.text(QString("%1 at %2").arg(text(bytesText(column.maxBytes)), canvas.timeLabel(column.maxNs)));
}

QString describeAllocation(const TimelineCanvas& canvas, const TimelineHit& hit) {
  const Trace& trace = canvas.document.trace();
  const Allocation& allocation = trace.allocations[*hit.allocation];
  const std::string& own = trace.strings[allocation.name];
  Table table;
  table.add("size", text(bytesText(allocation.bytes)) +
                        QString(" (%1 bytes)").arg(counted(static_cast<size_t>(allocation.bytes))));
  if (allocation.role != Role::unknown) table.add("role", QString::fromLatin1(name(allocation.role).data()));
  if (const std::string_view step = canvas.document.stepName(allocation.step); !step.empty())
    table.add("step", text(std::string(step)));
  table.add("age here", text(durationText(std::max<int64_t>(0, hit.timeNs - allocation.allocNs))));
  table.add("allocated", canvas.timeLabel(allocation.allocNs) + (allocation.older ? " or before" : ""));
  table.add("freed", allocation.freeNs == kNever ? QString("never") : canvas.timeLabel(allocation.freeNs));
  if (allocation.address != 0) table.add("address", QString("0x%1").arg(allocation.address, 0, 16));
  QString stack;
  const std::span<const Frame> frames = trace.stacks[allocation.stack];
  for (const Frame& frame : frames.first(std::min(frames.size(), kShownFrames))) {
    const std::string& file = trace.strings[frame.file];
    stack += QString("<br>%1 <i>%2:%3</i>")
                 .arg(text(shortName(trace.strings[frame.function])), text(file.substr(file.rfind('/') + 1)),
                      QString::number(frame.line));
  }
  return table.text(own.empty() ? QString("allocation %1").arg(*hit.allocation) : QString::fromStdString(own)) + stack;
}

QString describeSpan(const TimelineCanvas& canvas, const SpanBox& box) {
  const Trace& trace = canvas.document.trace();
  const Span& span = trace.spans[box.span];
  Table table;
  table.add("duration", text(durationText(span.durationNs)));
  table.add("start", canvas.timeLabel(span.startNs));
  if (box.count > 1) table.add("spans in this pixel", counted(box.count) + ", the longest shown");
  return table.text(QString::fromStdString(trace.strings[span.name]));
}

}  // namespace

TimelineHit hitTimeline(const TimelineCanvas& canvas, const QPoint& at) {
  TimelineHit hit;
  hit.timeNs = canvas.timeAt(at.x());
  const TimelineLayout::Area* area = canvas.layout.at(at.y());
  if (!area || !area->body.contains(at)) return hit;
  hit.pane = area->pane;
  if (!canvas.frame || !canvas.frame->has(area->pane)) return hit;
  const TimelineFrame& frame = *canvas.frame;
  const double x = canvas.toFrame(at.x() + 0.5);
  if (x < 0 || x >= frame.scale.width()) return hit;
  const double y = at.y() - area->body.top() + 0.5;
  const auto column = static_cast<size_t>(x);
  if (column < frame.memory.size()) hit.column = column;
  if (area->pane == Pane::memory && hit.column)
    hit.band = bandAt(frame.memory[column], canvas.bytes(area->body).bytesAt(y));
  if (area->pane == Pane::stack)
    hit.allocation = polygonAt(frame, static_cast<int>(x), canvas.bytes(area->body).bytesAt(y));
  if (area->pane == Pane::spans) hit.span = spanAt(frame, x, static_cast<int>(y / TimelineLayout::kSpanRow));
  if (area->pane == Pane::addresses)
    for (const AddressBox& box : frame.boxes)
      if (box.left <= x && x < std::max(box.right, box.left + 1) && box.top <= y * canvas.pixelRatio() &&
          y * canvas.pixelRatio() < box.bottom)
        hit.allocation = box.allocation;
  return hit;
}

QString describe(const TimelineCanvas& canvas, const TimelineHit& hit) {
  if (hit.span) return describeSpan(canvas, *hit.span);
  if (hit.allocation) return describeAllocation(canvas, hit);
  if (hit.pane == Pane::memory && hit.column && canvas.frame->index) return describeColumn(canvas, hit);
  return {};
}

}  // namespace moeblaze::gui
