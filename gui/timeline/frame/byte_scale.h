#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

/// Bytes from the bottom of a pane to its top.
class ByteScale {
 public:
  /// `topBytes` and `height` (pixels) are positive.
  ByteScale(double topBytes, double height) : topBytes_(topBytes), height_(height) {}

  double topBytes() const { return topBytes_; }
  double height() const { return height_; }
  double heightOf(double bytes) const { return bytes / topBytes_ * height_; }
  /// Pixels from the top.
  double yOf(double bytes) const { return height_ - heightOf(bytes); }
  double bytesAt(double y) const { return (height_ - y) / height_ * topBytes_; }

  /// Round sizes about `pixelsApart` apart, from 0 up, in the unit that UnitFormat has: powers of two of a binary one
  /// and their multiples, else 1, 2 or 5 times a power of ten.
  std::vector<Tick> ticks(double pixelsApart) const;

 private:
  double topBytes_, height_;
};

/// In the unit that UnitFormat has: "1.250 GiB".
std::string bytesText(int64_t bytes);

}  // namespace moeblaze::gui
