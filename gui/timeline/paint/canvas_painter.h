#pragma once

#include "gui/timeline/paint/timeline_canvas.h"

namespace moeblaze::gui {

/// What the painters of a timeline's parts share: the device, what is painted, and how things look in every part.
class CanvasPainter {
 protected:
  CanvasPainter(QPainter& painter, const TimelineCanvas& canvas)
      : painter_(painter), canvas_(canvas), layout_(canvas.layout), theme_(canvas.theme) {}

  /// The centre of the pixel that holds a coordinate: lines there cover one pixel and are not blurred.
  static double crisp(double x);
  /// Black or white, whichever is easier to read on `background`.
  static QColor textOn(const QColor& background);
  /// The colour of the band that an allocation belongs to; needs the frame's index.
  QColor colorOf(const Allocation& allocation) const;
  /// The vertical place of a number of bytes in a pane, in pixels of the widget.
  double yOf(const QRect& body, int64_t bytes) const {
    return body.top() + canvas_.bytes(body).yOf(static_cast<double>(bytes));
  }
  /// The outline of an allocation of the stack, in pixels of the widget.
  QPolygonF outlineOf(const QRect& body, const StackPolygon& polygon) const;
  /// A box of the address map, in pixels of the widget.
  QRectF rectOf(const QRect& body, const AddressBox& box) const;

  QPainter& painter_;
  const TimelineCanvas& canvas_;
  const TimelineLayout& layout_;
  const TimelineTheme& theme_;
};

}  // namespace moeblaze::gui
