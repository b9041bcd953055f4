#pragma once

#include <QPoint>
#include <QString>
#include <optional>

#include "gui/timeline/paint/timeline_canvas.h"

namespace moeblaze::gui {

/// What is at a place of a timeline.
struct TimelineHit {
  std::optional<Pane> pane;
  int64_t timeNs = 0;
  std::optional<size_t> column;      ///< of the frame
  std::optional<size_t> band;        ///< of the memory pane
  std::optional<size_t> allocation;  ///< index into Trace::allocations
  const SpanBox* span = nullptr;     ///< of the frame
};

TimelineHit hitTimeline(const TimelineCanvas& canvas, const QPoint& at);

/// What a tooltip says of it, as rich text; empty where nothing is.
QString describe(const TimelineCanvas& canvas, const TimelineHit& hit);

}  // namespace moeblaze::gui
