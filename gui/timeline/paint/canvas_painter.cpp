#include "gui/timeline/paint/canvas_painter.h"

#include <algorithm>
#include <cmath>

namespace moeblaze::gui {

double CanvasPainter::crisp(double x) { return std::floor(x) + 0.5; }

QColor CanvasPainter::textOn(const QColor& background) {
  return qGray(background.rgb()) > 140 ? QColor(0x18, 0x1c, 0x22) : QColor(Qt::white);
}

QColor CanvasPainter::colorOf(const Allocation& allocation) const {
  return theme_.band(*canvas_.frame->index, allocation);
}

QPolygonF CanvasPainter::outlineOf(const QRect& body, const StackPolygon& polygon) const {
  const int64_t bytes = canvas_.document.trace().allocations[polygon.allocation].bytes;
  QPolygonF lower, upper;
  for (size_t i = 0; i < polygon.steps.size(); ++i)
    for (int column : {polygon.steps[i].column, polygon.endOfStep(i)}) {
      const double x = canvas_.xOfFrame(column);
      lower << QPointF(x, yOf(body, polygon.steps[i].bottomBytes));
      upper << QPointF(x, yOf(body, polygon.steps[i].bottomBytes + bytes));
    }
  std::ranges::reverse(upper);
  return lower + upper;
}

QRectF CanvasPainter::rectOf(const QRect& body, const AddressBox& box) const {
  const double ratio = canvas_.pixelRatio();
  return {QPointF(canvas_.xOfFrame(box.left), body.top() + box.top / ratio),
          QPointF(canvas_.xOfFrame(box.right), body.top() + box.bottom / ratio)};
}

}  // namespace moeblaze::gui
