#include <QFontMetricsF>
#include <QImage>
#include <QPaintEngine>
#include <cmath>

#include "gui/timeline/paint/canvas_painter.h"

namespace moeblaze::gui {
namespace {

constexpr int kTicksApart = 110, kByteTicksApart = 44, kSwatch = 10;

QString trackName(const Document& document, TrackId track) {
  const Track& shown = document.trace().tracks[index(track)];
  return QString("%1 (%2)").arg(QString::fromStdString(shown.name), QString::fromLatin1(name(shown.kind).data()));
}

class AxisPainter : CanvasPainter {
 public:
  AxisPainter(QPainter& painter, const TimelineCanvas& canvas, const PaneSizes& sizes)
      : CanvasPainter(painter, canvas), sizes_(sizes), small_(canvas.font) {
    painter_.setFont(canvas_.font);
    small_.setPointSizeF(small_.pointSizeF() * 0.94);
  }

  void paint() {
    for (const TimelineLayout::Area& area : layout_.areas) {
      if (!area.body.isEmpty()) paintBody(area);
      paintHeading(area);
    }
    paintTimeAxis();
  }

 private:
  void paintBody(const TimelineLayout::Area& area) {
    painter_.fillRect(QRect(0, area.body.top(), TimelineLayout::kLabels, area.body.height()), theme_.surface());
    if (area.pane != Pane::spans) paintTimeGrid(area.body);
    const TimelineFrame* frame = canvas_.frame;
    if (!frame || !frame->has(area.pane)) {
      const std::string note = frame ? frame->notes[static_cast<size_t>(area.pane)] : std::string();
      painter_.setPen(theme_.faintText());
      painter_.drawText(area.body, Qt::AlignCenter, note.empty() ? QString("Drawing …") : QString::fromStdString(note));
    } else if (area.pane == Pane::memory || area.pane == Pane::stack) {
      paintByteAxis(area.body);
    } else if (area.pane == Pane::addresses) {
      paintAddressAxis(area.body);
    } else {
      paintLaneNames(area.body);
    }
  }

  void paintTimeGrid(const QRect& body) {
    const QImage strip = gridStrip({1, body.height()});
    for (const Tick& tick : canvas_.scale().ticks(kTicksApart)) {
      const double x = canvas_.xOf(tick.at);
      gridLine({QPointF(crisp(x), body.top()), QPointF(crisp(x), body.bottom() + 1)}, strip);
    }
  }

  /// An image of one grid line, or a null image when the painter does not paint pixels. Qt draws a translucent line on
  /// several threads that wait for one another, which takes longer than the rest of a frame; an image it blends at
  /// once.
  QImage gridStrip(const QSize& size) const {
    if (painter_.paintEngine()->type() != QPaintEngine::Raster) return {};
    QImage strip(size, QImage::Format_ARGB32_Premultiplied);
    strip.fill(theme_.grid());
    return strip;
  }

  void gridLine(const QLineF& line, const QImage& strip) {
    painter_.setPen(theme_.grid());
    if (strip.isNull())
      painter_.drawLine(line);
    else
      painter_.drawImage(QPointF(std::floor(line.x1()), std::floor(line.y1())), strip);
  }

  void paintByteAxis(const QRect& body) {
    const ByteScale scale = canvas_.bytes(body);
    const QImage strip = gridStrip({body.width(), 1});
    for (const Tick& tick : scale.ticks(kByteTicksApart)) {
      const double y = body.top() + scale.yOf(static_cast<double>(tick.at));
      gridLine({QPointF(body.left(), crisp(y)), QPointF(body.right() + 1, crisp(y))}, strip);
      label(body, y, QString::fromStdString(tick.label));
    }
  }

  void paintAddressAxis(const QRect& body) {
    const AddressSpace& space = canvas_.frame->addresses->space();
    double last = body.bottom() + 100;
    for (const AddressSpace::Run& run : space.runs()) {
      const double y =
          body.bottom() + 1 - static_cast<double>(run.offset) / static_cast<double>(space.size()) * body.height();
      if (last - y < kByteTicksApart / 2.0) continue;
      label(body, y, QString("0x%1").arg(run.start, 0, 16));
      last = y;
    }
  }

  void paintLaneNames(const QRect& body) {
    for (const TimelineFrame::Lane& lane : canvas_.frame->lanes) {
      const QString name = QString::fromStdString(canvas_.document.trace().tracks[index(lane.track)].name);
      const QRectF box(4, body.top() + lane.firstRow * TimelineLayout::kSpanRow, TimelineLayout::kLabels - 10,
                       lane.rows * TimelineLayout::kSpanRow);
      painter_.setPen(theme_.text());
      painter_.setFont(lane.rows > 1 ? canvas_.font : fitting(name, box.width()));
      if (lane.rows > 1)
        painter_.drawText(box, Qt::AlignRight | Qt::AlignTop | Qt::TextWordWrap, name);
      else
        painter_.drawText(box, Qt::AlignRight | Qt::AlignVCenter,
                          QFontMetricsF(painter_.font()).elidedText(name, Qt::ElideMiddle, box.width()));
    }
    painter_.setFont(canvas_.font);
  }

  /// The canvas's font, made smaller if that makes the whole text fit.
  QFont fitting(const QString& text, double width) const {
    QFont font = canvas_.font;
    for (const double share : {0.94, 0.88, 0.82}) {
      if (QFontMetricsF(font).horizontalAdvance(text) <= width) break;
      font.setPointSizeF(canvas_.font.pointSizeF() * share);
    }
    return font;
  }

  /// Writes a value of a vertical axis beside `y`, kept within the body.
  void label(const QRect& body, double y, const QString& text) {
    painter_.setFont(small_);
    const double height = QFontMetricsF(painter_.font()).height();
    const double top = std::clamp(y - height / 2, static_cast<double>(body.top()), body.bottom() + 1 - height);
    painter_.setPen(theme_.faintText());
    painter_.drawText(QRectF(0, top, TimelineLayout::kLabels - 8, height), Qt::AlignRight | Qt::AlignVCenter, text);
    painter_.setFont(canvas_.font);
  }

  void paintHeading(const TimelineLayout::Area& area) {
    painter_.fillRect(area.heading, theme_.surface());
    painter_.setPen(theme_.border());
    painter_.drawLine(area.heading.topLeft(), area.heading.topRight());
    paintArrow(area);
    QFont bold = canvas_.font;
    bold.setWeight(QFont::DemiBold);
    painter_.setFont(bold);
    painter_.setPen(theme_.text());
    const QString title = QString::fromLatin1(name(area.pane).data());
    const double titleWidth = QFontMetricsF(bold).horizontalAdvance(title);
    painter_.drawText(QRectF(22, area.heading.top(), titleWidth + 2, area.heading.height()), Qt::AlignVCenter, title);
    painter_.setFont(canvas_.font);
    double x = std::max<double>(TimelineLayout::kLabels, 22 + titleWidth + 16);
    x = text(area.heading, x, summary(area.pane));
    if (area.pane == Pane::memory) paintLegend(area.heading, x);
  }

  void paintArrow(const TimelineLayout::Area& area) {
    const double x = 12, y = area.heading.center().y() + 0.5;
    const bool closed = sizes_.collapsed[static_cast<size_t>(area.pane)];
    const QPolygonF arrow = closed ? QPolygonF({{x - 2, y - 4}, {x + 3, y}, {x - 2, y + 4}})
                                   : QPolygonF({{x - 4, y - 2}, {x + 4, y - 2}, {x, y + 3}});
    painter_.setRenderHint(QPainter::Antialiasing);
    painter_.setPen(Qt::NoPen);
    painter_.setBrush(theme_.faintText());
    painter_.drawPolygon(arrow);
    painter_.setRenderHint(QPainter::Antialiasing, false);
  }

  QString summary(Pane pane) const {
    const TimelineFrame* frame = canvas_.frame;
    if (!frame || !frame->has(pane) || (canvas_.view.track == TrackId::none && pane != Pane::spans)) return {};
    switch (pane) {
      case Pane::memory:
        return trackName(canvas_.document, canvas_.view.track);
      case Pane::stack:
        if (frame->stack.shown == frame->stack.alive)
          return QString("%1 in this window").arg(counted(frame->stack.alive));
        return QString("largest %1 of %2 in this window; the others as one band on top")
            .arg(counted(frame->stack.shown), counted(frame->stack.alive));
      case Pane::addresses: {
        const AddressSpace& space = frame->addresses->space();
        const QString size = QString::fromStdString(bytesText(static_cast<int64_t>(space.size())));
        const QString axis =
            space.runs().size() == 1
                ? QString("%1 of addresses").arg(size)
                : QString("%1 of addresses in %2 ranges, gaps cut out").arg(size, counted(space.runs().size()));
        return frame->hasAllBoxes ? axis : axis + "; the small ones of so many as shades of grey";
      }
      case Pane::spans: {
        size_t spans = 0, hidden = 0;
        for (const TimelineFrame::Lane& lane : frame->lanes) {
          spans += canvas_.document.spans(lane.track)->size();
          hidden += canvas_.document.spans(lane.track)->hidden();
        }
        QString all = spans == 0 ? QString() : QString("%1 spans").arg(counted(spans));
        const size_t tracks = canvas_.document.spanTracks().size();
        if (frame->lanes.size() < tracks)
          all += QString(" on the first %1 of %2 tracks").arg(counted(frame->lanes.size()), counted(tracks));
        return hidden == 0 ? all : all + QString("; %1 nested too deep to show").arg(counted(hidden));
      }
    }
    return {};
  }

  double text(const QRect& heading, double x, const QString& text) {
    painter_.setPen(theme_.faintText());
    const double room = heading.right() - 8 - x;
    paintText(painter_, QRectF(x, heading.top(), room, heading.height()), Qt::AlignVCenter, text);
    return x + std::min(room, QFontMetricsF(painter_.font()).horizontalAdvance(text)) + (text.isEmpty() ? 0 : 18);
  }

  void paintLegend(const QRect& heading, double x) {
    if (!canvas_.frame || !canvas_.frame->index) return;
    const std::span<const Category> categories = canvas_.frame->index->categories();
    for (size_t i = 0; i < categories.size(); ++i)
      x = legend(heading, x, QString::fromStdString(categories[i].name), theme_.band(categories[i], i), false);
    if (!canvas_.frame->reserved.empty()) x = legend(heading, x, "reserved", theme_.reserved(), true);
    const TrackRef& overlay = canvas_.view.overlay;
    if (!canvas_.frame->overlay.empty() && overlay.document)
      legend(heading, x, trackName(*overlay.document, overlay.track), theme_.overlay(), true);
  }

  double legend(const QRect& heading, double x, const QString& text, const QColor& color, bool isLine) {
    const QFontMetricsF metrics(painter_.font());
    const QString shown = metrics.elidedText(text, Qt::ElideMiddle, 210);
    const double width = metrics.horizontalAdvance(shown);
    if (x + kSwatch + 5 + width > heading.right() - 4) return x;
    const double y = heading.center().y() + 1;
    painter_.fillRect(isLine ? QRectF(x, y - 1, kSwatch, 2) : QRectF(x, y - kSwatch / 2, kSwatch, kSwatch), color);
    painter_.setPen(theme_.text());
    painter_.drawText(QRectF(x + kSwatch + 5, heading.top(), width + 2, heading.height()), Qt::AlignVCenter, shown);
    return x + kSwatch + 5 + width + 14;
  }

  void paintTimeAxis() {
    const QRect& axis = layout_.axis;
    painter_.fillRect(QRect(0, 0, axis.right() + 40, axis.height()), theme_.surface());
    const QFontMetricsF metrics(painter_.font());
    for (const Tick& tick : canvas_.scale().ticks(kTicksApart)) {
      const double x = crisp(canvas_.xOf(tick.at));
      painter_.setPen(theme_.faintText());
      painter_.drawLine(QPointF(x, axis.bottom() - 4), QPointF(x, axis.bottom()));
      const QString text = QString::fromStdString(tick.label);
      const double width = metrics.horizontalAdvance(text);
      const double left = std::clamp(x - width / 2, static_cast<double>(axis.left()), axis.right() - width);
      painter_.drawText(QRectF(left, 2, width + 2, axis.height() - 7), Qt::AlignVCenter, text);
    }
    painter_.setPen(theme_.border());
    painter_.drawLine(QPointF(axis.left(), axis.bottom() + 0.5), QPointF(axis.right(), axis.bottom() + 0.5));
  }

  const PaneSizes& sizes_;
  QFont small_;
};

}  // namespace

void paintAxes(QPainter& painter, const TimelineCanvas& canvas, const PaneSizes& sizes) {
  AxisPainter(painter, canvas, sizes).paint();
}

}  // namespace moeblaze::gui
