#pragma once

#include <QSize>
#include <functional>
#include <string>

class QPainter;

namespace moeblaze::gui {

using Paint = std::function<void(QPainter& painter, const QSize& size)>;

/// Largest width or height, pixels.
inline constexpr int kMaxPictureSize = 16384;

/// Paints into a PNG or SVG file, as the name's ending says; PNG with `pixelRatio` pixels a logical one. Whole or not
/// at all. Throws InputError.
void writePicture(const std::string& path, const QSize& size, const Paint& paint, double pixelRatio = 1);

/// Throws InputError when `path` ends in neither .png nor .svg.
void checkPictureName(const std::string& path);

/// "1920x1080"; throws InputError naming `option`.
QSize parsePictureSize(const std::string& option, const std::string& text);

}  // namespace moeblaze::gui
