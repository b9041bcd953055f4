#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

/// Maps bytes to the height of a pane: 0 at its bottom, topBytes() at its top.
class ByteScale {
 public:
  /// `topBytes` and `height`, in pixels, must be positive.
  ByteScale(double topBytes, double height) : topBytes_(topBytes), height_(height) {}

  double topBytes() const { return topBytes_; }
  double height() const { return height_; }
  /// The height of a size in pixels.
  double heightOf(double bytes) const { return bytes / topBytes_ * height_; }
  /// The place of a size in pixels from the top.
  double yOf(double bytes) const { return height_ - heightOf(bytes); }
  /// The size at a place in pixels from the top.
  double bytesAt(double y) const { return (height_ - y) / height_ * topBytes_; }

  /// Round sizes from 0 up, about `pixelsApart` pixels apart, written in the unit of UnitFormat. They are powers of two
  /// times a binary unit and their multiples, or else 1, 2 or 5 times a power of ten.
  std::vector<Tick> ticks(double pixelsApart) const;

 private:
  double topBytes_, height_;
};

/// Writes a size in the unit of UnitFormat, as in "1.250 GiB".
std::string bytesText(int64_t bytes);

}  // namespace moeblaze::gui
