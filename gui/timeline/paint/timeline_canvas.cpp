#include "gui/timeline/paint/timeline_canvas.h"

#include <QFontMetricsF>
#include <QLocale>

namespace moeblaze::gui {

double TimelineCanvas::xOfFrame(double deviceX) const {
  const TimeScale now = scale();
  const double start = static_cast<double>(frame->scale.window().startNs - view.window.startNs);
  return layout.left() + (start + deviceX * frame->scale.nsPerPixel()) / now.nsPerPixel();
}

double TimelineCanvas::toFrame(double x) const {
  const double start = static_cast<double>(frame->scale.window().startNs - view.window.startNs);
  return ((x - layout.left()) * scale().nsPerPixel() - start) / frame->scale.nsPerPixel();
}

QString counted(size_t count) { return QLocale(QLocale::English).toString(static_cast<qulonglong>(count)); }

void paintText(QPainter& painter, const QRectF& box, Qt::Alignment alignment, const QString& text) {
  if (box.width() < 4) return;
  painter.drawText(box, static_cast<int>(alignment) | Qt::TextSingleLine,
                   QFontMetricsF(painter.font()).elidedText(text, Qt::ElideRight, box.width()));
}

}  // namespace moeblaze::gui
