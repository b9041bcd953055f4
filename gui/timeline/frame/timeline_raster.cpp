#include "gui/timeline/frame/timeline_raster.h"

#include <array>

#include "gui/timeline/frame/byte_scale.h"
#include "gui/timeline/frame/pixels.h"
#include "gui/timeline/frame/timeline_layout.h"

namespace moeblaze::gui {
namespace {

/// Out of 256: how much the part between a column's minimum and its maximum fades, since those bytes did not stay.
constexpr int kTransient = 90;

/// Draws a step line through the maxima of the columns, joined by vertical lines.
void drawLine(Pixels& pixels, const std::vector<MemoryColumn>& columns, const ByteScale& scale, QRgb color,
              double thick) {
  double before = -1;
  for (int x = 0; x < static_cast<int>(columns.size()); ++x) {
    const double y = scale.yOf(static_cast<double>(columns[static_cast<size_t>(x)].maxBytes));
    const double top = before < 0 ? y : std::min(y, before), bottom = before < 0 ? y : std::max(y, before);
    pixels.column(x, top - thick / 2, bottom + thick / 2, color);
    before = y;
  }
}

void fadeAbove(Pixels& pixels, int x, double top, double bottom, QRgb background) {
  for (int y = std::max(0, static_cast<int>(top)); y < std::min(pixels.height(), static_cast<int>(bottom)); ++y) {
    QRgb& pixel = pixels.row(y)[x];
    pixel = Pixels::blend(pixel, background, kTransient);
  }
}

void rasterMemory(const TimelineFrame& frame, const TimelineTheme& theme, Pixels& pixels) {
  const ByteScale scale(frame.topBytes, pixels.height());
  std::array<QRgb, kMaxCategories> colors{};
  for (size_t i = 0; i < frame.index->categories().size(); ++i)
    colors[i] = theme.band(frame.index->categories()[i], i).rgb();
  for (int x = 0; x < static_cast<int>(frame.memory.size()); ++x) {
    const MemoryColumn& column = frame.memory[static_cast<size_t>(x)];
    int64_t below = 0;
    for (size_t i = 0; i < kMaxCategories; ++i) {
      if (column.atMax[i] == 0) continue;
      pixels.column(x, scale.yOf(static_cast<double>(below + column.atMax[i])), scale.yOf(static_cast<double>(below)),
                    colors[i]);
      below += column.atMax[i];
    }
    if (column.minBytes < column.maxBytes)
      fadeAbove(pixels, x, scale.yOf(static_cast<double>(column.maxBytes)),
                scale.yOf(static_cast<double>(column.minBytes)), theme.background().rgb());
  }
  const double ratio = frame.query.pixelRatio;
  drawLine(pixels, frame.reserved, scale, theme.reserved().rgb(), 1.2 * ratio);
  drawLine(pixels, frame.memory, scale, theme.total().rgb(), 1.0 * ratio);
  drawLine(pixels, frame.overlay, scale, theme.overlay().rgb(), 1.8 * ratio);
}

/// Shades neighbouring allocations of one band a little differently, so that they can be told apart.
QRgb shaded(const QColor& color, uint32_t allocation, const TimelineTheme& theme) {
  return TimelineTheme::mixed(color, theme.background(), 0.09 * (allocation * 2654435761u >> 30)).rgb();
}

/// A pixel belongs to the polygon at its centre. Polygons are filled from the top of the stack to its bottom, and each
/// reaches one pixel below its bottom. Polygons sink only in visible steps, so the one below may already lie slightly
/// lower, and this closes the gap.
void fillPolygon(const TimelineFrame& frame, const StackPolygon& polygon, const TimelineTheme& theme, Pixels& pixels) {
  const ByteScale scale(frame.topBytes, pixels.height());
  const Allocation& allocation = frame.query.document->trace().allocations[polygon.allocation];
  const QColor base = theme.band(*frame.index, allocation);
  const QRgb color = shaded(base, polygon.allocation, theme);
  const QRgb edge = TimelineTheme::mixed(base, theme.text(), 0.35).rgb();
  const bool hasEdge = scale.heightOf(static_cast<double>(allocation.bytes)) >= 4 * frame.query.pixelRatio;
  const auto row = [&](int64_t bytes) { return static_cast<int>(scale.yOf(static_cast<double>(bytes)) + 0.5); };
  for (size_t i = 0; i < polygon.steps.size(); ++i) {
    const int start = polygon.steps[i].column;
    const int end = polygon.endOfStep(i);
    const int bottom = row(polygon.steps[i].bottomBytes), top = row(polygon.steps[i].bottomBytes + allocation.bytes);
    if (top == bottom) continue;
    pixels.fill(top, start, end, hasEdge ? edge : color);
    for (int y = top + 1; y <= bottom; ++y) pixels.fill(y, start, end, color);
  }
}

void rasterStack(const TimelineFrame& frame, const TimelineTheme& theme, Pixels& pixels) {
  const ByteScale scale(frame.topBytes, pixels.height());
  for (size_t i = frame.stack.polygons.size(); i-- > 0;) fillPolygon(frame, frame.stack.polygons[i], theme, pixels);
  const QRgb other = theme.other().rgb();
  for (int x = 0; x < static_cast<int>(frame.memory.size()); ++x) {
    const double total = static_cast<double>(frame.memory[static_cast<size_t>(x)].maxBytes);
    const double shown = total - static_cast<double>(frame.stack.otherBytes[static_cast<size_t>(x)]);
    pixels.column(x, scale.yOf(total), scale.yOf(shown), other);
  }
  drawLine(pixels, frame.memory, scale, theme.total().rgb(), frame.query.pixelRatio);
}

/// Draws the address map of a window with too many boxes: the fuller an address range is, the darker the grey.
void rasterFill(const TimelineFrame& frame, const TimelineTheme& theme, Pixels& pixels) {
  const AddressMap& map = *frame.addresses;
  const TimeScale bins(map.fillWindow(), static_cast<int>(map.bins()));
  std::array<QRgb, 256> tones{};
  for (int i = 0; i < 256; ++i) {
    const int share = static_cast<int>(16 * std::sqrt(i));  // the square root makes small shares visible
    tones[static_cast<size_t>(i)] = Pixels::blend(theme.background().rgb(), theme.other().rgb(), share);
  }
  std::vector<int> bin(static_cast<size_t>(pixels.width()), -1);
  for (int x = 0; x < pixels.width(); ++x)
    if (const int64_t timeNs = frame.scale.edge(x); map.fillWindow().contains(timeNs))
      bin[static_cast<size_t>(x)] = std::clamp(static_cast<int>(bins.xOf(timeNs)), 0, static_cast<int>(map.bins()) - 1);
  for (int y = 0; y < pixels.height(); ++y) {
    const auto row =
        static_cast<size_t>(pixels.height() - 1 - y) * AddressMap::kRows / static_cast<size_t>(pixels.height());
    const std::span<const uint8_t> fill = map.fill(row);
    QRgb* to = pixels.row(y);
    for (int x = 0; x < pixels.width(); ++x)
      if (const int at = bin[static_cast<size_t>(x)]; at >= 0) to[x] = tones[fill[static_cast<size_t>(at)]];
  }
}

void rasterAddresses(const TimelineFrame& frame, const TimelineTheme& theme, Pixels& pixels) {
  if (!frame.hasAllBoxes) rasterFill(frame, theme, pixels);
  const std::vector<Allocation>& all = frame.query.document->trace().allocations;
  for (const AddressBox& box : frame.boxes) {
    // The fill shows it already.
    if (!frame.hasAllBoxes && (box.bottom - box.top < 1 || box.right - box.left < 1)) continue;
    const Allocation& allocation = all[box.allocation];
    const QColor base = frame.index ? theme.band(*frame.index, allocation) : theme.role(allocation.role);
    const double gap = box.bottom - box.top >= 3 ? 0.5 : 0;
    const double narrow = box.right - box.left >= 4 ? 0.5 : 0;
    pixels.box(box.left + narrow, box.top + gap, box.right - narrow, box.bottom - gap,
               shaded(base, box.allocation, theme));
  }
  const QRgb cut = theme.border().rgb();
  const double scale = pixels.height() / static_cast<double>(frame.addresses->space().size());
  for (const AddressSpace::Run& run : frame.addresses->space().runs().subspan(1)) {
    const int y = pixels.height() - 1 - static_cast<int>(static_cast<double>(run.offset) * scale);
    for (int x = 0; x < pixels.width() && y >= 0; ++x) pixels.blendAt(x, y, cut, 0.6);
  }
}

void rasterSpans(const TimelineFrame& frame, const TimelineTheme& theme, Pixels& pixels) {
  const Trace& trace = frame.query.document->trace();
  const double row = TimelineLayout::kSpanRow * frame.query.pixelRatio;
  for (const TimelineFrame::Lane& lane : frame.lanes) {
    const int first = static_cast<int>(lane.firstRow * row);
    if (lane.firstRow > 0 && first < pixels.height())
      for (int x = 0; x < pixels.width(); ++x) pixels.row(first)[x] = theme.border().rgb();
    for (const SpanBox& box : lane.boxes) {
      QColor color = theme.named(trace.strings[trace.spans[box.span].name]);
      if (box.count > 1) color = TimelineTheme::mixed(color, theme.faintText(), 0.35);
      const double top = (lane.firstRow + box.row) * row + 1.5 * frame.query.pixelRatio;
      const double gap = box.right - box.left >= 3 ? 0.5 : 0;
      pixels.box(box.left, top, box.right - gap, top + row - 2.5 * frame.query.pixelRatio, color.rgb());
    }
  }
}

}  // namespace

QImage rasterPane(const TimelineFrame& frame, Pane pane, const TimelineTheme& theme) {
  const int height = frame.query.heights[static_cast<size_t>(pane)];
  if (!frame.has(pane)) return {};
  QImage image(frame.scale.width(), height, QImage::Format_RGB32);
  image.fill(theme.background());
  Pixels pixels(image);
  switch (pane) {
    case Pane::memory:
      if (frame.index) rasterMemory(frame, theme, pixels);
      break;
    case Pane::stack:
      rasterStack(frame, theme, pixels);
      break;
    case Pane::addresses:
      rasterAddresses(frame, theme, pixels);
      break;
    case Pane::spans:
      rasterSpans(frame, theme, pixels);
      break;
  }
  image.setDevicePixelRatio(frame.query.pixelRatio);
  return image;
}

}  // namespace moeblaze::gui
