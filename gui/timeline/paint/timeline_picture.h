#pragma once

#include <QFont>
#include <QPalette>
#include <QSize>
#include <memory>

#include "gui/document/view_state.h"

class QPainter;

namespace moeblaze::gui {

/// A timeline as it is to be painted without a window.
struct TimelinePicture {
  std::shared_ptr<const Document> document;
  View view;
  QPalette palette;
  QFont font;
};

/// Paints into any device, of `size` logical pixels from the painter's origin: polygons of a pixel's detail, so that
/// vector formats stay small and sharp. Slow for large documents (indices may be made): not for the GUI thread.
void paintTimeline(QPainter& painter, const QSize& size, const TimelinePicture& picture);

}  // namespace moeblaze::gui
