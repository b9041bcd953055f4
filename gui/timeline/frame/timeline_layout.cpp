#include "gui/timeline/frame/timeline_layout.h"

#include <algorithm>

namespace moeblaze::gui {
namespace {

constexpr int kRightMargin = 10, kBottomMargin = 6, kGrab = 4;

}  // namespace

std::string_view name(Pane pane) {
  constexpr std::array<std::string_view, kPanes> kNames{"Memory", "Allocations", "Addresses", "Steps and kernels"};
  return kNames[static_cast<size_t>(pane)];
}

TimelineLayout layOutTimeline(const QSize& size, const View& view, const PaneSizes& sizes, int spanRows, int scroll) {
  TimelineLayout layout;
  const int width = std::max(1, size.width() - TimelineLayout::kLabels - kRightMargin);
  layout.axis = {TimelineLayout::kLabels, 0, width, TimelineLayout::kAxis};

  int fixed = TimelineLayout::kAxis + kBottomMargin;
  double weights = 0;
  for (size_t i = 0; i < kPanes; ++i) {
    if (!view.panes[i]) continue;
    fixed += TimelineLayout::kHeading;
    if (sizes.collapsed[i]) continue;
    if (static_cast<Pane>(i) == Pane::spans)
      fixed += std::max(1, spanRows) * TimelineLayout::kSpanRow;
    else
      weights += sizes.weights[i];
  }
  const int flexible = std::max(0, size.height() - fixed);
  int y = TimelineLayout::kAxis - scroll;
  for (size_t i = 0; i < kPanes; ++i) {
    if (!view.panes[i]) continue;
    TimelineLayout::Area area{static_cast<Pane>(i), {0, y, size.width(), TimelineLayout::kHeading}, {}};
    y += TimelineLayout::kHeading;
    int height = 0;
    if (!sizes.collapsed[i])
      height = area.pane == Pane::spans
                   ? std::max(1, spanRows) * TimelineLayout::kSpanRow
                   : std::max(TimelineLayout::kMinBodyHeight, static_cast<int>(flexible * sizes.weights[i] / weights));
    area.body = {TimelineLayout::kLabels, y, width, height};
    y += height;
    layout.areas.push_back(area);
  }
  layout.contentHeight = y + scroll + kBottomMargin;
  return layout;
}

const TimelineLayout::Area* TimelineLayout::find(Pane pane) const {
  const auto found = std::ranges::find(areas, pane, &Area::pane);
  return found == areas.end() || found->body.isEmpty() ? nullptr : &*found;
}

const TimelineLayout::Area* TimelineLayout::at(int y) const {
  if (y < kAxis) return nullptr;
  const auto found = std::ranges::find_if(areas, [&](const Area& area) {
    return area.heading.top() <= y && y < area.heading.bottom() + 1 + area.body.height();
  });
  return found == areas.end() ? nullptr : &*found;
}

std::optional<size_t> TimelineLayout::edgeAt(int y) const {
  for (size_t i = 0; i + 1 < areas.size(); ++i) {
    if (areas[i].body.isEmpty() || areas[i].pane == Pane::spans || areas[i + 1].pane == Pane::spans) continue;
    if (areas[i + 1].body.isEmpty()) continue;
    if (std::abs(areas[i + 1].heading.top() - y) <= kGrab) return i;
  }
  return std::nullopt;
}

}  // namespace moeblaze::gui
