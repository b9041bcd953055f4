#pragma once

#include <QPainter>
#include <QString>
#include <string>

#include "gui/timeline/frame/byte_scale.h"
#include "gui/timeline/frame/timeline_frame.h"
#include "gui/timeline/frame/timeline_layout.h"
#include "gui/timeline/frame/timeline_theme.h"

namespace moeblaze::gui {

/// What is needed to paint a part of a timeline, or to find what is under the mouse. The frame may show another window
/// than the view does by now; its places are then converted.
struct TimelineCanvas {
  const TimelineLayout& layout;
  const TimelineTheme& theme;
  const View& view;
  const Document& document;
  const TimelineFrame* frame = nullptr;  ///< null before the first frame
  QFont font;

  TimeScale scale() const { return {view.window, std::max(1, layout.width())}; }
  /// These convert between times, places of the frame in device pixels, and logical pixels of the widget.
  double xOf(int64_t timeNs) const { return layout.left() + scale().xOf(timeNs); }
  double xOfFrame(double deviceX) const;
  double toFrame(double x) const;
  int64_t timeAt(double x) const { return scale().timeAt(x - layout.left()); }
  /// The vertical scale of a pane whose body this is.
  ByteScale bytes(const QRect& body) const { return {frame ? frame->topBytes : 1, static_cast<double>(body.height())}; }
  /// Device pixels of the frame in one logical pixel.
  double pixelRatio() const { return frame ? frame->query.pixelRatio : 1; }
  /// A time with the digits that the present zoom can show.
  QString timeLabel(int64_t timeNs) const {
    return QString::fromStdString(timeText(timeNs, static_cast<int64_t>(scale().nsPerPixel() / 2)));
  }
};

/// Paints the axes, the headings with their legends, and a note in each pane that has nothing to show.
void paintAxes(QPainter& painter, const TimelineCanvas& canvas, const PaneSizes& sizes);

/// Writes names into the boxes that have room for them.
void paintLabels(QPainter& painter, const TimelineCanvas& canvas);

/// Marks the peak, the chosen instant, and the selected range and allocation.
void paintMarks(QPainter& painter, const TimelineCanvas& canvas);

/// Paints the data of all panes as polygons and rectangles instead of pixels.
void paintPolygons(QPainter& painter, const TimelineCanvas& canvas);

/// The name of a kernel without its return type, template arguments and parameters.
std::string shortName(const std::string& name);

/// "1,234,567".
QString counted(size_t count);

/// Draws a text into `box`, shortened with an ellipsis if it does not fit.
void paintText(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text);

}  // namespace moeblaze::gui
