#pragma once

#include <QFont>
#include <QPalette>
#include <QSize>
#include <memory>

#include "gui/document/view_state.h"

class QPainter;

namespace moeblaze::gui {

/// A timeline that is to be painted without a window.
struct TimelinePicture {
  std::shared_ptr<const Document> document;
  View view;
  QPalette palette;
  QFont font;
};

/// Paints a timeline into any device, `size` logical pixels large, from the painter's origin. It uses polygons with the
/// detail of a pixel, so that vector formats stay small and sharp. It may have to make indices and is slow for large
/// documents, so do not call it on the GUI thread.
void paintTimeline(QPainter& painter, const QSize& size, const TimelinePicture& picture);

}  // namespace moeblaze::gui
