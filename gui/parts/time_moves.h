#pragma once

#include <QPoint>
#include <optional>

#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

/// The window that a view over time shows after a key (Qt::Key): W and S zoom in and out around `x`, in pixels from the
/// left edge of `scale`; A, D and the arrow keys move to earlier and later times. Nothing for other keys.
std::optional<TimeWindow> windowAfterKey(int key, const TimeScale& scale, double x, const TimeWindow& bounds);

/// The window that a view over time shows after the wheel turned by `angleDelta`, as QWheelEvent has it: turned up and
/// down it zooms around `x`, turned sideways it moves. Nothing when it did not turn.
std::optional<TimeWindow> windowAfterWheel(const QPoint& angleDelta, const TimeScale& scale, double x,
                                           const TimeWindow& bounds);

}  // namespace moeblaze::gui
