#pragma once

#include <QColor>
#include <QImage>
#include <algorithm>
#include <cmath>

namespace moeblaze::gui {

/// Draws into a 32-bit image pixel by pixel.
class Pixels {
 public:
  explicit Pixels(QImage& image)
      : data_(reinterpret_cast<QRgb*>(image.bits())),
        stride_(static_cast<size_t>(image.bytesPerLine()) / sizeof(QRgb)),
        width_(image.width()),
        height_(image.height()) {}

  int width() const { return width_; }
  int height() const { return height_; }
  /// The first pixel of a row.
  QRgb* row(int y) { return data_ + static_cast<size_t>(y) * stride_; }

  /// Mixes `share` 256ths of `color` into `under`.
  static QRgb blend(QRgb under, QRgb color, int share) {
    const auto part = [&](int shift) {
      const int a = static_cast<int>(under >> shift & 0xff), b = static_cast<int>(color >> shift & 0xff);
      return static_cast<QRgb>(a + (b - a) * share / 256) << shift;
    };
    return 0xff000000u | part(16) | part(8) | part(0);
  }
  /// Mixes `share` of `color`, from 0 to 1, into a pixel; does nothing outside the image.
  void blendAt(int x, int y, QRgb color, double share) {
    if (x < 0 || x >= width_ || y < 0 || y >= height_) return;
    QRgb& pixel = row(y)[x];
    pixel = blend(pixel, color, static_cast<int>(share * 256));
  }

  /// Draws from `top` to `bottom` in one pixel column. The pixels at its ends get as much of the colour as is covered.
  void column(int x, double top, double bottom, QRgb color) {
    top = std::max(top, 0.0);
    bottom = std::min(bottom, static_cast<double>(height_));
    if (top >= bottom) return;
    const int first = static_cast<int>(std::ceil(top)), last = static_cast<int>(std::floor(bottom));
    if (first > last) return blendAt(x, last, color, bottom - top);
    if (first - top > 0) blendAt(x, first - 1, color, first - top);
    for (int y = first; y < last; ++y) row(y)[x] = color;
    if (bottom - last > 0) blendAt(x, last, color, bottom - last);
  }

  /// Draws a rectangle; pixels at its edges get as much of the colour as is covered.
  void box(double left, double top, double right, double bottom, QRgb color) {
    top = std::max(top, 0.0);
    bottom = std::min(bottom, static_cast<double>(height_));
    for (int y = static_cast<int>(top); y < bottom; ++y)
      line(y, left, right, color, std::min(bottom, y + 1.0) - std::max(top, static_cast<double>(y)));
  }

  /// Fills the pixels [left, right) of a row.
  void fill(int y, int left, int right, QRgb color) {
    left = std::max(left, 0);
    right = std::min(right, width_);
    if (y >= 0 && y < height_ && left < right) std::fill(row(y) + left, row(y) + right, color);
  }

 private:
  void line(int y, double left, double right, QRgb color, double share) {
    left = std::max(left, 0.0);
    right = std::min(right, static_cast<double>(width_));
    if (left >= right) return;
    const int first = static_cast<int>(std::ceil(left)), last = static_cast<int>(std::floor(right));
    if (first > last) return blendAt(last, y, color, share * (right - left));
    if (first - left > 0) blendAt(first - 1, y, color, share * (first - left));
    if (share >= 1)
      fill(y, first, last, color);
    else
      for (int x = first; x < last; ++x) row(y)[x] = blend(row(y)[x], color, static_cast<int>(share * 256));
    if (right - last > 0) blendAt(last, y, color, share * (right - last));
  }

  QRgb* data_;
  size_t stride_;
  int width_, height_;
};

}  // namespace moeblaze::gui
