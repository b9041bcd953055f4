#pragma once

#include <QPoint>
#include <QString>
#include <optional>

#include "gui/timeline/paint/timeline_canvas.h"

namespace moeblaze::gui {

/// What lies at a place of a timeline.
struct TimelineHit {
  std::optional<Pane> pane;
  int64_t timeNs = 0;
  std::optional<size_t> column;      ///< a column of the frame
  std::optional<size_t> band;        ///< a band of the memory pane
  std::optional<size_t> allocation;  ///< index into Trace::allocations
  const SpanBox* span = nullptr;     ///< a box of the frame
};

/// Finds what lies at a place of the widget.
TimelineHit hitTimeline(const TimelineCanvas& canvas, const QPoint& at);

/// The text of a tooltip, as rich text; empty if there is nothing to say.
QString describe(const TimelineCanvas& canvas, const TimelineHit& hit);

}  // namespace moeblaze::gui
