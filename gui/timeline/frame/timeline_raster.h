#pragma once

#include <QImage>

#include "gui/timeline/frame/timeline_frame.h"
#include "gui/timeline/frame/timeline_theme.h"

namespace moeblaze::gui {

/// The data of a pane in device pixels, without axes and texts. A null image if the pane is not shown or has a note
/// instead.
QImage rasterPane(const TimelineFrame& frame, Pane pane, const TimelineTheme& theme);

}  // namespace moeblaze::gui
