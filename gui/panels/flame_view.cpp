#include "gui/panels/flame_view.h"

#include <fmt/format.h>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <functional>

#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

constexpr double kMinWidth = 0.7;  // in pixels; boxes narrower than this are not drawn
constexpr int kTextMargin = 4, kMinTextWidth = 24;

/// A warm colour whose hue depends on the file, so that functions of one library look alike.
QColor colorOf(const FlameTree::Node& node) {
  const size_t file = std::hash<std::string>{}(node.file), function = std::hash<std::string>{}(node.function);
  return QColor::fromHsl(18 + static_cast<int>(file % 37), 150, 165 + static_cast<int>(function % 30));
}

}  // namespace

FlameView::FlameView(QWidget* parent) : DrawnView(parent) { setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed); }

void FlameView::setTree(std::shared_ptr<const FlameTree> tree) {
  tree_ = std::move(tree);
  zoomed_ = 0;
  hovered_.reset();
  found_ = tree_ && !search_.empty() ? tree_->search(search_).first : std::vector<bool>();
  updateGeometry();
  update();
  Q_EMIT zoomChanged();
}

int64_t FlameView::setSearch(const QString& text) {
  search_ = text.toStdString();
  found_.clear();
  int64_t bytes = 0;
  if (tree_ && !search_.empty()) std::tie(found_, bytes) = tree_->search(search_);
  update();
  return bytes;
}

void FlameView::zoomTo(uint32_t node) {
  if (!tree_ || node == zoomed_) return;
  zoomed_ = node;
  update();
  Q_EMIT zoomChanged();
}

QSize FlameView::sizeHint() const { return {400, tree_ ? tree_->depth() * kRowHeight + 1 : kRowHeight}; }

double FlameView::xOf(int64_t byte) const {
  const FlameTree::Node& shown = tree_->nodes()[zoomed_];
  return static_cast<double>(byte - shown.offset) / static_cast<double>(std::max<int64_t>(shown.bytes, 1)) * width();
}

QRectF FlameView::boxOf(uint32_t node) const {
  const FlameTree::Node& n = tree_->nodes()[node];
  const double left = std::clamp(xOf(n.offset), 0.0, static_cast<double>(width()));
  const double right = std::clamp(xOf(n.offset + n.bytes), 0.0, static_cast<double>(width()));
  return {left, static_cast<double>(n.depth) * kRowHeight, right - left, kRowHeight};
}

std::optional<uint32_t> FlameView::nodeAt(QPoint place) const {
  if (!tree_ || tree_->empty() || place.x() < 0 || place.x() >= width() || place.y() < 0) return std::nullopt;
  const FlameTree::Node& shown = tree_->nodes()[zoomed_];
  const double fraction = (place.x() + 0.5) / width();
  const int64_t byte = shown.offset + static_cast<int64_t>(fraction * static_cast<double>(shown.bytes));
  const int row = place.y() / kRowHeight;
  const uint32_t node = tree_->at(row, byte);
  return tree_->nodes()[node].depth == row ? std::optional(node) : std::nullopt;
}

QString FlameView::describe(uint32_t node) const {
  const FlameTree::Node& n = tree_->nodes()[node];
  const double share = 100.0 * static_cast<double>(n.bytes) / static_cast<double>(tree_->nodes()[0].bytes);
  return QString("%1%2 — %3 in %4 allocations, %5 % of all")
      .arg(QString::fromStdString(n.function),
           n.place.empty() ? QString() : QString("  %1").arg(QString::fromStdString(n.place)),
           UnitFormat::shared().text(n.bytes), QString::fromStdString(countText(n.count)),
           QString::number(share, 'f', 1));
}

void FlameView::paint(QPainter& painter, const QRect& visible) const {
  painter.fillRect(visible, palette().base());
  if (!tree_ || tree_->empty()) return;
  // First the boxes that lead to the one shown, one in each row, then all that lie below it.
  for (uint32_t node = zoomed_; node != 0;) {
    node = tree_->nodes()[node].parent;
    paintNode(painter, node, visible);
  }
  std::vector<uint32_t> left{zoomed_};
  while (!left.empty()) {
    const uint32_t node = left.back();
    left.pop_back();
    const QRectF box = boxOf(node);
    if (box.width() < kMinWidth || box.top() > visible.bottom()) continue;
    paintNode(painter, node, visible);
    left.insert(left.end(), tree_->nodes()[node].children.begin(), tree_->nodes()[node].children.end());
  }
}

void FlameView::paintNode(QPainter& painter, uint32_t node, const QRect& visible) const {
  const QRectF box = boxOf(node);
  if (!box.intersects(visible)) return;
  const FlameTree::Node& n = tree_->nodes()[node];
  const bool above = n.depth < tree_->nodes()[zoomed_].depth;
  QColor color = node == 0 ? QColor(170, 175, 180) : colorOf(n);
  if (!found_.empty()) color = found_[node] ? QColor(178, 102, 214) : QColor::fromHsl(color.hslHue(), 35, 190);
  if (above) color = color.darker(125);
  if (hovered_ == node) color = color.lighter(112);
  painter.fillRect(box.adjusted(0, 0, box.width() > 2 ? -1 : 0, -1), color);
  const double room = box.width() - 2 * kTextMargin;
  if (room < kMinTextWidth) return;
  const bool light = color.lightness() > 120;
  painter.setPen(light ? Qt::black : Qt::white);
  const QString text =
      QString::fromStdString(node == 0 ? "all" : n.function) + "  " + UnitFormat::shared().text(n.bytes);
  painter.drawText(box.adjusted(kTextMargin, 0, -kTextMargin, -1), Qt::AlignVCenter | Qt::AlignLeft,
                   painter.fontMetrics().elidedText(text, Qt::ElideRight, static_cast<int>(room)));
}

void FlameView::hover(const std::optional<QPointF>& place, Qt::MouseButtons) {
  const auto node = place ? nodeAt(place->toPoint()) : std::nullopt;
  if (place && node == hovered_) return;
  hovered_ = node;
  Q_EMIT hovered(node ? describe(*node) : QString());
  update();
}

void FlameView::mousePressEvent(QMouseEvent* event) {
  setFocus();
  if (event->button() == Qt::RightButton) return zoomTo(tree_ ? tree_->nodes()[zoomed_].parent : 0);
  if (event->button() != Qt::LeftButton) return;
  if (const auto node = nodeAt(event->position().toPoint())) zoomTo(*node);
}

void FlameView::keyPressEvent(QKeyEvent* event) {
  const bool back = event->key() == Qt::Key_Escape || event->key() == Qt::Key_Backspace;
  if (back && tree_ && zoomed_ != 0) return zoomTo(event->key() == Qt::Key_Escape ? 0 : tree_->nodes()[zoomed_].parent);
  QWidget::keyPressEvent(event);
}

bool FlameView::event(QEvent* event) {
  if (event->type() == QEvent::ToolTip) {
    const auto* help = static_cast<QHelpEvent*>(event);
    const auto node = nodeAt(help->pos());
    node ? QToolTip::showText(help->globalPos(), describe(*node), this) : QToolTip::hideText();
    return true;
  }
  return QWidget::event(event);
}

}  // namespace moeblaze::gui
