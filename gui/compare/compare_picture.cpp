#include "gui/compare/compare_picture.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPainterPath>
#include <QRegularExpression>
#include <algorithm>
#include <cmath>

#include "gui/compare/compare_colors.h"
#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

constexpr int kMargin = 84, kGap = 10, kRightMargin = 12, kTickPixels = 56, kTimeTickPixels = 110;

using Columns = std::vector<StepCurve::Column>;

/// Writes a round size without trailing zeros.
QString tickText(int64_t bytes) {
  QString text = UnitFormat::shared().text(bytes);
  static const QRegularExpression kZeros(R"(\.?0+ )");
  return text.contains('.') ? text.replace(kZeros, " ") : text;
}

/// Draws into one plot, whose vertical axis goes from `low` to `high` bytes.
class Plot {
 public:
  Plot(QPainter& painter, const QRect& area, double low, double high, const QPalette& palette)
      : painter_(painter), area_(area), low_(low), high_(std::max(high, low + 1)), palette_(palette) {}

  double y(double bytes) const { return area_.bottom() - (bytes - low_) / (high_ - low_) * (area_.height() - 1); }

  void grid() {
    painter_.fillRect(area_, palette_.base());
    const double step = tickStep();
    QColor line = palette_.color(QPalette::Text);
    for (double at = std::ceil(low_ / step) * step; at <= high_; at += step) {
      line.setAlpha(at == 0 ? 110 : 32);
      painter_.setPen(line);
      painter_.drawLine(QPointF(area_.left(), y(at)), QPointF(area_.right(), y(at)));
      painter_.setPen(palette_.color(QPalette::Text));
      const QString text = tickText(static_cast<int64_t>(at));
      const double top = std::clamp(y(at) - 10, area_.top() - 2.0, std::max(area_.top() - 2.0, area_.bottom() - 17.0));
      painter_.drawText(QRectF(area_.left() - kMargin, top, kMargin - 6, 20), Qt::AlignRight | Qt::AlignVCenter, text);
    }
  }

  /// Draws a curve as one path. In each column the path goes to the value at the column's left edge, then to its
  /// greatest and its least value.
  void curve(const Columns& columns, const QColor& color, bool fill) {
    QPainterPath path;
    path.moveTo(area_.left(), y(static_cast<double>(columns.front().entering)));
    for (size_t c = 0; c < columns.size(); ++c) {
      const double x = area_.left() + static_cast<double>(c);
      const auto& [entering, least, greatest] = columns[c];
      path.lineTo(x, y(static_cast<double>(entering)));
      if (greatest != entering) path.lineTo(x, y(static_cast<double>(greatest)));
      if (least != entering) path.lineTo(x, y(static_cast<double>(least)));
      const int64_t leaving = c + 1 < columns.size() ? columns[c + 1].entering : entering;
      path.lineTo(x + 1, y(static_cast<double>(leaving)));
    }
    if (fill) {
      QPainterPath area = path;
      area.lineTo(area_.right() + 1, y(0));
      area.lineTo(area_.left(), y(0));
      QColor light = color;
      light.setAlpha(60);
      painter_.fillPath(area, light);
    }
    painter_.setPen(QPen(color, 1.4));
    painter_.drawPath(path);
  }

  /// Draws a bar for each column: upward where B has more bytes, downward where it has fewer.
  void bars(const Columns& columns) {
    for (size_t c = 0; c < columns.size(); ++c) {
      const double x = area_.left() + static_cast<double>(c), zero = y(0);
      const auto& [entering, least, greatest] = columns[c];
      if (greatest > 0)
        painter_.fillRect(QRectF(x, y(static_cast<double>(greatest)), 1, zero - y(static_cast<double>(greatest))),
                          kMoreColor);
      if (least < 0) painter_.fillRect(QRectF(x, zero, 1, y(static_cast<double>(least)) - zero), kLessColor);
    }
  }

 private:
  double tickStep() const {
    const double perTick = (high_ - low_) * kTickPixels / std::max(area_.height(), 1);
    if (UnitFormat::shared().unit() == ByteUnit::binary) return std::exp2(std::ceil(std::log2(std::max(perTick, 1.0))));
    const double decade = std::pow(10, std::floor(std::log10(std::max(perTick, 1.0))));
    for (double factor : {1, 2, 5})
      if (decade * factor >= perTick) return decade * factor;
    return decade * 10;
  }

  QPainter& painter_;
  QRect area_;
  double low_, high_;
  const QPalette& palette_;
};

void legend(QPainter& painter, const QRect& area, const Comparison& comparison, const QPalette& palette) {
  int x = area.left() + 8;
  const auto entry = [&](const char* letter, const ComparedTrack& side, const QColor& color) {
    const QString text = QString("%1: %2").arg(letter, QString::fromStdString(side.document->title()));
    const int width = painter.fontMetrics().horizontalAdvance(text);
    painter.fillRect(QRect(x, area.top() + 9, 14, 10), color);
    painter.setPen(palette.color(QPalette::Text));
    painter.drawText(x + 20, area.top() + 18, text);
    x += width + 44;
  };
  entry("A", comparison.aTrack(), kAColor);
  entry("B", comparison.bTrack(), kBColor);
}

void axis(QPainter& painter, const QRect& area, const TimeScale& scale, const QPalette& palette) {
  painter.setPen(palette.color(QPalette::Text));
  for (const Tick& tick : scale.ticks(kTimeTickPixels)) {
    const double x = area.left() + scale.xOf(static_cast<int64_t>(tick.at));
    if (x < area.left() || x > area.right()) continue;
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.top() + 4));
    painter.drawText(QRectF(x - 60, area.top() + 5, 120, area.height() - 5), Qt::AlignHCenter | Qt::AlignTop,
                     QString::fromStdString(tick.label));
  }
}

void cursor(QPainter& painter, const CompareLayout& layout, const ComparePicture& picture, const TimeScale& scale) {
  const int64_t at = *picture.cursorNs;
  const double x = layout.curves.left() + scale.xOf(at);
  painter.setPen(QPen(picture.palette.color(QPalette::Text), 1, Qt::DotLine));
  painter.drawLine(QPointF(x, layout.curves.top()), QPointF(x, layout.delta.bottom()));
  const UnitFormat& units = UnitFormat::shared();
  const Comparison& c = *picture.comparison;
  const QString text = QString("%1   A %2   B %3   B − A %4")
                           .arg(QString::fromStdString(timeText(at, static_cast<int64_t>(scale.nsPerPixel()) + 1)),
                                units.text(c.a().at(at)), units.text(c.b().at(at)), units.delta(c.delta().at(at)));
  const int width = painter.fontMetrics().horizontalAdvance(text) + 12;
  const int left = std::clamp(static_cast<int>(x) + 8, layout.curves.left(),
                              std::max(layout.curves.left(), layout.curves.right() - width));
  const QRect box(left, layout.curves.top() + 28, width, painter.fontMetrics().height() + 6);
  painter.fillRect(box, picture.palette.toolTipBase());
  painter.setPen(picture.palette.color(QPalette::ToolTipText));
  painter.drawText(box, Qt::AlignCenter, text);
}

}  // namespace

CompareLayout::CompareLayout(const QSize& size, const QFont& font) {
  const int axisHeight = QFontMetrics(font).height() + 8;
  const int width = std::max(1, size.width() - kMargin - kRightMargin);
  const int room = std::max(4, size.height() - axisHeight - 2 * kGap);
  const int deltaHeight = room / 3;
  curves = QRect(kMargin, kGap, width, room - deltaHeight - kGap);
  delta = QRect(kMargin, curves.bottom() + 1 + kGap, width, deltaHeight);
  axis = QRect(kMargin, delta.bottom() + 1, width, axisHeight);
}

void paintComparison(QPainter& painter, const QSize& size, const ComparePicture& picture) {
  painter.setFont(picture.font);
  painter.fillRect(QRect(QPoint(), size), picture.palette.window());
  if (!picture.comparison) return;
  const Comparison& comparison = *picture.comparison;
  const CompareLayout layout(size, picture.font);
  const TimeScale scale(picture.window, layout.curves.width());
  const Columns a = comparison.a().columns(scale), b = comparison.b().columns(scale);
  const Columns delta = comparison.delta().columns(scale);
  const auto greatest = [](const Columns& columns) {
    return static_cast<double>(std::ranges::max(columns, {}, &StepCurve::Column::greatest).greatest);
  };
  const double least = static_cast<double>(std::ranges::min(delta, {}, &StepCurve::Column::least).least);
  painter.setRenderHint(QPainter::Antialiasing, false);
  Plot curves(painter, layout.curves, 0, 1.15 * std::max({greatest(a), greatest(b), 1.0}), picture.palette);
  curves.grid();
  curves.curve(a, kAColor, true);
  curves.curve(b, kBColor, true);
  legend(painter, layout.curves, comparison, picture.palette);
  const double low = std::min(least, 0.0), high = std::max(greatest(delta), 0.0);
  const double room = std::max(high - low, 1.0) * 0.08;
  Plot deltas(painter, layout.delta, low - room, high + room, picture.palette);
  deltas.grid();
  deltas.bars(delta);
  painter.setPen(picture.palette.color(QPalette::Text));
  painter.drawText(layout.delta.left() + 8, layout.delta.top() + 16, QObject::tr("B − A"));
  axis(painter, layout.axis, scale, picture.palette);
  if (picture.cursorNs && picture.window.contains(*picture.cursorNs)) cursor(painter, layout, picture, scale);
}

}  // namespace moeblaze::gui
