#pragma once

#include <QPainter>
#include <QString>
#include <string>

#include "gui/timeline/frame/byte_scale.h"
#include "gui/timeline/frame/timeline_frame.h"
#include "gui/timeline/frame/timeline_layout.h"
#include "gui/timeline/frame/timeline_theme.h"

namespace moeblaze::gui {

/// What a part of a timeline needs to know to be painted or found under the mouse. The frame may be of another window
/// than the view by now: its places are carried over.
struct TimelineCanvas {
  const TimelineLayout& layout;
  const TimelineTheme& theme;
  const View& view;
  const Document& document;
  const TimelineFrame* frame = nullptr;  ///< null before the first
  QFont font;

  TimeScale scale() const { return {view.window, std::max(1, layout.width())}; }
  /// Logical pixels of the widget, from a time or from a place of the frame; and back.
  double xOf(int64_t timeNs) const { return layout.left() + scale().xOf(timeNs); }
  double xOfFrame(double deviceX) const;
  double toFrame(double x) const;
  int64_t timeAt(double x) const { return scale().timeAt(x - layout.left()); }
  ByteScale bytes(const QRect& body) const { return {frame ? frame->topBytes : 1, static_cast<double>(body.height())}; }
  double pixelRatio() const { return frame ? frame->query.pixelRatio : 1; }
  QString timeLabel(int64_t timeNs) const {
    return QString::fromStdString(timeText(timeNs, static_cast<int64_t>(scale().nsPerPixel() / 2)));
  }
};

/// Axes, headings with legends, and notes where a pane has nothing to show.
void paintAxes(QPainter& painter, const TimelineCanvas& canvas, const PaneSizes& sizes);

/// Names in boxes that have room for them.
void paintLabels(QPainter& painter, const TimelineCanvas& canvas);

/// Peak, chosen instant, selected range and allocation.
void paintMarks(QPainter& painter, const TimelineCanvas& canvas);

/// The data of all panes as polygons and rectangles rather than pixels.
void paintPolygons(QPainter& painter, const TimelineCanvas& canvas);

/// What a kernel is called without its namespaces' templates and arguments.
std::string shortName(const std::string& name);

/// "1,234,567".
QString counted(size_t count);

/// A text that fits into `width`, cut if it must be.
void paintText(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text);

}  // namespace moeblaze::gui
