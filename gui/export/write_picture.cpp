#include "gui/export/write_picture.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QSvgGenerator>

#include "core/base/error.h"
#include "core/base/report.h"
#include "core/command/program.h"

namespace moeblaze::gui {
namespace {

bool isSvg(const std::string& path) { return QString::fromStdString(path).endsWith(".svg", Qt::CaseInsensitive); }

QByteArray svg(const QSize& size, const Paint& paint) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(), size));
  generator.setTitle("MoEBlaze");
  QPainter painter(&generator);
  paint(painter, size);
  painter.end();
  return bytes;
}

QByteArray png(const QSize& size, const Paint& paint, double pixelRatio) {
  QImage image(size * pixelRatio, QImage::Format_RGB32);
  if (image.isNull()) throw InputError("the picture does not fit into memory; use a smaller size");
  image.setDevicePixelRatio(pixelRatio);
  QPainter painter(&image);
  paint(painter, size);
  painter.end();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  image.save(&buffer, "PNG");
  return bytes;
}

}  // namespace

void checkPictureName(const std::string& path) {
  if (!isSvg(path) && !QString::fromStdString(path).endsWith(".png", Qt::CaseInsensitive))
    throw InputError(fmt::format("{}: is no picture's name; allowed: .png, .svg", path));
}

void writePicture(const std::string& path, const QSize& size, const Paint& paint, double pixelRatio) {
  checkPictureName(path);
  const QByteArray bytes = isSvg(path) ? svg(size, paint) : png(size, paint, pixelRatio);
  writeFile(path, bytes.toStdString());
}

QSize parsePictureSize(const std::string& option, const std::string& text) {
  constexpr int64_t kMinPictureSize = 64;
  const size_t cross = text.find('x');
  if (cross == std::string::npos)
    throw InputError(fmt::format("{} {} is not WIDTHxHEIGHT, as in 1920x1080", option, quote(text)));
  const auto side = [&](const std::string& digits) {
    return static_cast<int>(parseCount(option, digits, kMinPictureSize, kMaxPictureSize));
  };
  return {side(text.substr(0, cross)), side(text.substr(cross + 1))};
}

}  // namespace moeblaze::gui
