#include "gui/timeline/view/timeline_view.h"

#include <QEvent>
#include <QPainter>
#include <QScrollBar>

#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

constexpr size_t kSmall = 100'000;

}  // namespace

TimelineView::TimelineView(ViewState* state, QWidget* parent)
    : QAbstractScrollArea(parent), state_(state), theme_(palette()) {
  setFocusPolicy(Qt::StrongFocus);
  setFrameShape(QFrame::NoFrame);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  viewport()->setMouseTracking(true);
  viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
  connect(state_, &ViewState::documentChanged, this, &TimelineView::showDocument);
  connect(state_, &ViewState::windowChanged, this, &TimelineView::refresh);
  connect(state_, &ViewState::categoriesChanged, this, &TimelineView::refresh);
  connect(state_, &ViewState::tracksChanged, this, &TimelineView::refresh);
  connect(state_, &ViewState::panesChanged, this, &TimelineView::relayOut);
  connect(state_, &ViewState::changed, viewport(), qOverload<>(&QWidget::update));
  connect(&UnitFormat::shared(), &UnitFormat::changed, viewport(), qOverload<>(&QWidget::update));
  connect(&renderer_, &TimelineRenderer::rendered, this, &TimelineView::accept);
  connect(&renderer_, &TimelineRenderer::indicesMade, this, &TimelineView::refresh);
  setAccessibleName(tr("Timeline"));
  relayOut();
}

void TimelineView::showDocument() {
  // A newer state of the same document keeps showing the old frame until its own is drawn.
  const auto& document = state_->document();
  const bool isSame = frame_ && document && document->title() == frame_->frame.query.document->title();
  if (!isSame) {
    frame_ = nullptr;
    verticalScrollBar()->setValue(0);
  }
  relayOut();
}

/// Requests a frame of what is to be shown now.
void TimelineView::refresh() {
  isCurrent_ = false;
  viewport()->update();
  if (!state_->document()) return;
  const double ratio = devicePixelRatioF();
  TimelineQuery query{state_->document(), state_->view(), static_cast<int>(layout_.width() * ratio), {}, ratio,
                      isSmall()};
  for (const TimelineLayout::Area& area : layout_.areas)
    query.heights[static_cast<size_t>(area.pane)] = static_cast<int>(area.body.height() * ratio);
  requested_ = renderer_.request(std::move(query), theme_);
}

void TimelineView::relayOut() {
  placePanes();
  const int height = viewport()->height();
  verticalScrollBar()->setPageStep(height);
  verticalScrollBar()->setSingleStep(TimelineLayout::kSpanRow * 2);
  verticalScrollBar()->setRange(0, std::max(0, layout_.contentHeight - height));
  placePanes();
  refresh();
}

void TimelineView::placePanes() {
  const int rows = state_->document() ? spanRows(*state_->document()) : 0;
  layout_ = layOutTimeline(viewport()->size(), state_->view(), sizes_, rows, verticalScrollBar()->value());
}

void TimelineView::accept(const std::shared_ptr<const RenderedFrame>& frame) {
  if (frame->frame.query.document != state_->document()) return;
  frame_ = frame;
  isCurrent_ = frame->frame.isComplete && frame->generation == requested_;
  viewport()->update();
  if (isCurrent_) Q_EMIT drawn();
}

bool TimelineView::isOfDocument() const { return frame_ && frame_->frame.query.document == state_->document(); }

/// Whether indices are made so quickly that a note about waiting could not be read.
bool TimelineView::isSmall() const { return state_->document()->trace().allocations.size() < kSmall; }

TimelineCanvas TimelineView::canvas() const {
  if (frame_ && !isOfDocument()) {
    oldView_ = frame_->frame.query.view;
    oldView_.window = state_->view().window;
    return {layout_, theme_, oldView_, *frame_->frame.query.document, &frame_->frame, font()};
  }
  return {layout_, theme_, state_->view(), *state_->document(), frame_ ? &frame_->frame : nullptr, font()};
}

void TimelineView::paintImages(QPainter& painter) const {
  if (!frame_) return;
  const TimelineCanvas canvas = this->canvas();
  const double left = canvas.xOfFrame(0), right = canvas.xOfFrame(frame_->frame.scale.width());
  for (const TimelineLayout::Area& area : layout_.areas) {
    const QImage& image = frame_->images[static_cast<size_t>(area.pane)];
    if (area.body.isEmpty() || image.isNull()) continue;
    painter.setClipRect(area.body);
    painter.drawImage(QRectF(left, area.body.top(), right - left, area.body.height()), image, image.rect());
  }
  painter.setClipping(false);
}

void TimelineView::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  painter.fillRect(viewport()->rect(), theme_.background());
  if (!state_->document()) return;
  const TimelineCanvas canvas = this->canvas();
  paintImages(painter);
  paintAxes(painter, canvas, sizes_);
  painter.setClipRect(QRect(0, TimelineLayout::kAxis, viewport()->width(), viewport()->height()));
  paintLabels(painter, canvas);
  painter.setClipping(false);
  paintMarks(painter, canvas);
}

void TimelineView::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  relayOut();
}

void TimelineView::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() != QEvent::PaletteChange && event->type() != QEvent::FontChange) return;
  theme_ = TimelineTheme(palette());
  refresh();
}

void TimelineView::scrollContentsBy(int, int) {
  placePanes();
  viewport()->update();
}

}  // namespace moeblaze::gui
