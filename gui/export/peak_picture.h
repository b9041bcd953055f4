#pragma once

#include <QFont>
#include <QPalette>
#include <QSize>
#include <memory>

#include "gui/models/alive_table.h"

class QPainter;

namespace moeblaze::gui {

/// What a picture of the allocations alive at an instant shows.
struct PeakPicture {
  std::shared_ptr<const AliveTable> table;  ///< must have a grouping
  bool isPeak = true;
  QPalette palette;
  QFont font;
};

/// Paints the groups as bars, largest first; those that do not fit into the height share the last bar.
void paintPeak(QPainter& painter, const QSize& size, const PeakPicture& picture);

}  // namespace moeblaze::gui
