#pragma once

#include <QSize>
#include <functional>
#include <string>

class QPainter;

namespace moeblaze::gui {

using Paint = std::function<void(QPainter& painter, const QSize& size)>;

/// The largest width or height of a picture, in pixels.
inline constexpr int kMaxPictureSize = 16384;

/// Writes a PNG or SVG file, as the ending of `path` says. `size` is in logical pixels, of which each is `pixelRatio`
/// pixels wide in a PNG. The file is written completely or not at all. Throws InputError.
void writePicture(const std::string& path, const QSize& size, const Paint& paint, double pixelRatio = 1);

/// Throws InputError when `path` ends in neither .png nor .svg.
void checkPictureName(const std::string& path);

/// Parses a size such as "1920x1080"; throws InputError naming `option`.
QSize parsePictureSize(const std::string& option, const std::string& text);

}  // namespace moeblaze::gui
