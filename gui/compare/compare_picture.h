#pragma once

#include <QFont>
#include <QPalette>
#include <QSize>
#include <memory>
#include <optional>

#include "gui/compare/comparison.h"

class QPainter;

namespace moeblaze::gui {

/// A comparison as it is to be painted.
struct ComparePicture {
  std::shared_ptr<const Comparison> comparison;
  TimeWindow window;
  std::optional<int64_t> cursorNs;  ///< where the values are told
  QPalette palette;
  QFont font;
};

/// Where the parts of a picture lie.
struct CompareLayout {
  QRect curves, delta, axis;
  explicit CompareLayout(const QSize& size, const QFont& font);
};

/// Both curves over one another, the difference beneath, the time axis below; into any device, of `size` logical
/// pixels.
void paintComparison(QPainter& painter, const QSize& size, const ComparePicture& picture);

}  // namespace moeblaze::gui
