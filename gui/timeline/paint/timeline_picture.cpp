#include "gui/timeline/paint/timeline_picture.h"

#include <QPainter>

#include "gui/timeline/paint/timeline_canvas.h"

namespace moeblaze::gui {

void paintTimeline(QPainter& painter, const QSize& size, const TimelinePicture& picture) {
  const TimelineTheme theme(picture.palette);
  const PaneSizes sizes;
  const TimelineLayout layout = layOutTimeline(size, picture.view, sizes, spanRows(*picture.document), 0);
  TimelineQuery query{picture.document, picture.view, layout.width(), {}, 1, true};
  for (const TimelineLayout::Area& area : layout.areas)
    query.heights[static_cast<size_t>(area.pane)] = area.body.height();
  const TimelineFrame frame = makeFrame(query);
  const TimelineCanvas canvas{layout, theme, picture.view, *picture.document, &frame, picture.font};

  painter.save();
  painter.setClipRect(QRect(QPoint(), size));
  painter.fillRect(QRect(QPoint(), size), theme.background());
  paintPolygons(painter, canvas);
  paintAxes(painter, canvas, sizes);
  paintLabels(painter, canvas);
  paintMarks(painter, canvas);
  painter.restore();
}

}  // namespace moeblaze::gui
