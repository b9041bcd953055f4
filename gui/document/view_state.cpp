#include "gui/document/view_state.h"

#include <algorithm>

namespace moeblaze::gui {
namespace {

constexpr qint64 kGestureMs = 700;
constexpr size_t kMaxUndoSteps = 200;

}  // namespace

ViewState::ViewState(QObject* parent) : QObject(parent) { gesture_.invalidate(); }

void ViewState::setDocument(std::shared_ptr<const Document> document) {
  document_ = std::move(document);
  View first;
  first.panes = view_.panes;
  if (document_) {
    first.window = document_->bounds();
    first.track = document_->mainTrack();
    first.categories = document_->mainCategories();
    if (first.track != TrackId::none) first.overlay = {document_, document_->overlayOf(first.track)};
  }
  past_.clear();
  future_.clear();
  gesture_.invalidate();
  view_ = first;
  Q_EMIT documentChanged();
  Q_EMIT changed();
  Q_EMIT historyChanged();
}

void ViewState::setWindow(TimeWindow window, Undo undo) {
  View next = view_;
  next.window = document_ ? clamped(window, document_->bounds()) : window;
  apply(next, undo);
}

void ViewState::setRange(std::optional<TimeWindow> range) {
  View next = view_;
  next.range = range;
  apply(next, Undo::gesture);
}

void ViewState::setInstant(std::optional<int64_t> timeNs) {
  View next = view_;
  next.instantNs = timeNs;
  apply(next, Undo::none);
}

void ViewState::setAllocation(std::optional<size_t> allocation) {
  View next = view_;
  next.allocation = allocation;
  apply(next, Undo::none);
}

void ViewState::setCategories(Attribute attribute) {
  View next = view_;
  next.categories = attribute;
  apply(next, Undo::step);
}

void ViewState::setPaneVisible(Pane pane, bool visible) {
  View next = view_;
  next.panes[static_cast<size_t>(pane)] = visible;
  apply(next, Undo::step);
}

void ViewState::setTrack(TrackId track) {
  View next = view_;
  next.track = track;
  const bool ownOverlay = next.overlay.track == TrackId::none || next.overlay.document == document_;
  if (document_ && track != TrackId::none && ownOverlay) next.overlay = {document_, document_->overlayOf(track)};
  apply(next, Undo::step);
}

void ViewState::setOverlay(TrackRef overlay) {
  View next = view_;
  next.overlay = std::move(overlay);
  apply(next, Undo::step);
}

void ViewState::fit() {
  if (!document_) return;
  const bool toRange = view_.range && view_.window != clamped(*view_.range, document_->bounds());
  setWindow(toRange ? *view_.range : document_->bounds());
}

void ViewState::goToPeak() {
  if (!document_ || view_.track == TrackId::none) return;
  View next = view_;
  next.instantNs = document_->events(view_.track)->peak().timeNs;
  bringIntoView(*next.instantNs, next);
  apply(next, Undo::step);
}

void ViewState::stepEvent(int direction) {
  if (!document_ || view_.track == TrackId::none) return;
  const MemoryEvents& events = *document_->events(view_.track);
  const int64_t from = view_.instantNs.value_or(direction > 0 ? view_.window.startNs - 1 : view_.window.endNs);
  const std::optional<int64_t> to = direction > 0 ? events.nextEvent(from) : events.previousEvent(from);
  if (!to) return;
  View next = view_;
  next.instantNs = to;
  bringIntoView(*to, next);
  apply(next, Undo::gesture);
}

void ViewState::bringIntoView(int64_t timeNs, View& view) const {
  if (view.window.contains(timeNs)) return;
  const int64_t span = view.window.spanNs();
  view.window = clamped({timeNs - span / 2, timeNs - span / 2 + span}, document_->bounds());
}

void ViewState::apply(const View& next, Undo undo) {
  if (next == view_) return;
  const bool continues = undo == Undo::gesture && gesture_.isValid() && gesture_.elapsed() < kGestureMs;
  if (undo != Undo::none && !continues) {
    past_.push_back(view_);
    if (past_.size() > kMaxUndoSteps) past_.erase(past_.begin());
  }
  if (undo != Undo::none) {
    future_.clear();
    gesture_.invalidate();
    if (undo == Undo::gesture) gesture_.start();
  }
  show(next);
  if (undo != Undo::none) Q_EMIT historyChanged();
}

void ViewState::undo() {
  if (past_.empty()) return;
  future_.push_back(view_);
  const View next = past_.back();
  past_.pop_back();
  gesture_.invalidate();
  show(next);
  Q_EMIT historyChanged();
}

void ViewState::redo() {
  if (future_.empty()) return;
  past_.push_back(view_);
  const View next = future_.back();
  future_.pop_back();
  gesture_.invalidate();
  show(next);
  Q_EMIT historyChanged();
}

void ViewState::show(const View& next) {
  const View before = std::exchange(view_, next);
  if (before.window != view_.window) Q_EMIT windowChanged();
  if (before.range != view_.range) Q_EMIT rangeChanged();
  if (before.instantNs != view_.instantNs) Q_EMIT instantChanged();
  if (before.allocation != view_.allocation) Q_EMIT allocationChanged();
  if (before.categories != view_.categories) Q_EMIT categoriesChanged();
  if (before.panes != view_.panes) Q_EMIT panesChanged();
  if (before.track != view_.track || !(before.overlay == view_.overlay)) Q_EMIT tracksChanged();
  Q_EMIT changed();
}

}  // namespace moeblaze::gui
