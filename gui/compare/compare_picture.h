#pragma once

#include <QFont>
#include <QPalette>
#include <QSize>
#include <memory>
#include <optional>

#include "gui/compare/comparison.h"

class QPainter;

namespace moeblaze::gui {

/// What a picture of a comparison shows.
struct ComparePicture {
  std::shared_ptr<const Comparison> comparison;
  TimeWindow window;
  std::optional<int64_t> cursorNs;  ///< the instant whose values are written beside it
  QPalette palette;
  QFont font;
};

/// Where the parts of the picture lie, in logical pixels.
struct CompareLayout {
  QRect curves, delta, axis;
  explicit CompareLayout(const QSize& size, const QFont& font);
};

/// Paints both curves over one another, their difference below them, and the time axis at the bottom. Works on any
/// paint device; `size` is in logical pixels.
void paintComparison(QPainter& painter, const QSize& size, const ComparePicture& picture);

}  // namespace moeblaze::gui
