#pragma once

#include <QFont>
#include <QPalette>
#include <QSize>
#include <memory>

#include "gui/models/alive_table.h"

class QPainter;

namespace moeblaze::gui {

/// What is alive at an instant, as it is to be painted.
struct PeakPicture {
  std::shared_ptr<const AliveTable> table;  ///< grouped
  bool isPeak = true;
  QPalette palette;
  QFont font;
};

/// The groups as bars, largest first; those beyond the height as one.
void paintPeak(QPainter& painter, const QSize& size, const PeakPicture& picture);

}  // namespace moeblaze::gui
