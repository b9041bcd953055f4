#include "gui/export/peak_picture.h"

#include <fmt/format.h>

#include <QPainter>
#include <algorithm>

#include "gui/timeline/frame/timeline_theme.h"
#include "gui/timeline/index/time_scale.h"
#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

constexpr int kMargin = 20, kRowHeight = 24, kTitleHeight = 70, kSizeWidth = 150;

struct Bar {
  QString name;
  int64_t bytes = 0;
  Role role = Role::unknown;
};

/// At most `most` bars; when there are more groups, the last bar stands for all the rest.
std::vector<Bar> barsOf(const AliveTable& table, size_t most) {
  std::vector<Bar> bars;
  const auto groups = table.groups();
  const size_t own = groups.size() <= most ? groups.size() : most - 1;
  for (size_t i = 0; i < own; ++i) {
    QString name = QString::fromStdString(table.labels().label(*table.query().grouping, groups[i].key));
    if (groups[i].count > 1) name += QString("  × %1").arg(groups[i].count);
    bars.push_back({name, groups[i].bytes, table.allocation(groups[i].first).role});
  }
  if (own == groups.size()) return bars;
  Bar rest{QObject::tr("%1 others").arg(groups.size() - own)};
  for (const AliveTable::Group& group : groups.subspan(own)) rest.bytes += group.bytes;
  bars.push_back(rest);
  return bars;
}

void title(QPainter& painter, const QSize& size, const PeakPicture& picture, const TimelineTheme& theme) {
  const AliveTable& table = *picture.table;
  QFont large = picture.font;
  large.setPointSizeF(large.pointSizeF() * 1.4);
  large.setBold(true);
  painter.setFont(large);
  painter.setPen(theme.text());
  painter.drawText(QRect(kMargin, kMargin - 8, size.width() - 2 * kMargin, 26), Qt::AlignLeft | Qt::AlignVCenter,
                   QObject::tr("%1 %2").arg(picture.isPeak ? QObject::tr("Peak") : QObject::tr("Alive:"),
                                            UnitFormat::shared().text(table.allBytes())));
  painter.setFont(picture.font);
  painter.setPen(theme.faintText());
  const int64_t resolution = std::max<int64_t>(1, table.document().bounds().spanNs() / 100'000);
  painter.drawText(QRect(kMargin, kMargin + 18, size.width() - 2 * kMargin, 20), Qt::AlignLeft | Qt::AlignVCenter,
                   QObject::tr("%1 at %2, by %3")
                       .arg(QString::fromStdString(table.document().title()),
                            QString::fromStdString(timeText(table.query().instantNs, resolution)),
                            QString::fromUtf8(name(*table.query().grouping).data())));
}

}  // namespace

void paintPeak(QPainter& painter, const QSize& size, const PeakPicture& picture) {
  const TimelineTheme theme(picture.palette);
  painter.fillRect(QRect(QPoint(), size), theme.background());
  title(painter, size, picture, theme);
  const int rows = std::max(1, (size.height() - kTitleHeight - kMargin) / kRowHeight);
  const std::vector<Bar> bars = barsOf(*picture.table, static_cast<size_t>(rows));
  if (bars.empty()) return;
  const double most = static_cast<double>(std::max<int64_t>(1, std::ranges::max(bars, {}, &Bar::bytes).bytes));
  const int names = std::clamp(size.width() / 3, 100, 360);
  const int left = kMargin + names + 10, room = std::max(20, size.width() - left - kSizeWidth - kMargin);
  for (size_t i = 0; i < bars.size(); ++i) {
    const int top = kTitleHeight + static_cast<int>(i) * kRowHeight;
    const double width = static_cast<double>(bars[i].bytes) / most * room;
    painter.fillRect(QRectF(left, top + 3, std::max(width, 1.0), kRowHeight - 6), theme.role(bars[i].role));
    painter.setPen(theme.text());
    painter.drawText(QRect(kMargin, top, names, kRowHeight), Qt::AlignRight | Qt::AlignVCenter,
                     painter.fontMetrics().elidedText(bars[i].name, Qt::ElideMiddle, names));
    const double share = 100.0 * static_cast<double>(bars[i].bytes) /
                         static_cast<double>(std::max<int64_t>(1, picture.table->allBytes()));
    painter.drawText(
        QRectF(left + width + 8, top, kSizeWidth, kRowHeight), Qt::AlignLeft | Qt::AlignVCenter,
        QString("%1   %2 %").arg(UnitFormat::shared().text(bars[i].bytes), QString::number(share, 'f', 1)));
  }
}

}  // namespace moeblaze::gui
