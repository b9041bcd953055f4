#include "gui/timeline/frame/timeline_frame.h"

#include <algorithm>
#include <optional>

namespace moeblaze::gui {
namespace {

constexpr double kHeadroom = 1.08;
constexpr double kMinStep = 0.3;  // in pixels

bool shows(const TimelineQuery& query, Pane pane) { return query.heights[static_cast<size_t>(pane)] > 0; }

class FrameMaker {
 public:
  explicit FrameMaker(TimelineQuery query) : document_(*query.document) {
    frame_.scale = TimeScale(query.view.window, std::max(1, query.width));
    frame_.query = std::move(query);
  }

  TimelineFrame make() {
    const TrackId track = frame_.query.view.track;
    if (track == TrackId::none) {
      for (Pane pane : {Pane::memory, Pane::stack, Pane::addresses}) note(pane, "This trace has no memory events.");
    } else {
      addMemory(track);
      if (shows(frame_.query, Pane::stack)) addStack(track);
      if (shows(frame_.query, Pane::addresses)) addAddresses(track);
    }
    if (shows(frame_.query, Pane::spans)) addLanes();
    return std::move(frame_);
  }

 private:
  void note(Pane pane, std::string text) { frame_.notes[static_cast<size_t>(pane)] = std::move(text); }

  /// Returns what `find` finds. If the query waits, it returns what `make` makes; otherwise a missing index leaves a
  /// note in the pane and the frame incomplete.
  template <typename Find, typename Make>
  auto get(Pane pane, Find find, Make make) -> decltype(make()) {
    if (auto found = frame_.query.waits ? make() : find()) return found;
    frame_.isComplete = false;
    note(pane, "Preparing …");
    return nullptr;
  }

  void addMemory(TrackId track) {
    const Attribute attribute = frame_.query.view.categories;
    frame_.index = get(
        Pane::memory, [&] { return document_.readyMemory(track, attribute); },
        [&] { return document_.memory(track, attribute); });
    int64_t top = std::max<int64_t>(1, document_.events(track)->peak().bytes);
    if (frame_.index) frame_.memory = frame_.index->columns(frame_.scale);
    const TrackId segments = document_.segmentsOf(track);
    if (segments != TrackId::none) addLine({frame_.query.document, segments}, frame_.reserved, top);
    const TrackRef& overlay = frame_.query.view.overlay;
    if (overlay.document && overlay.track != TrackId::none) addLine(overlay, frame_.overlay, top);
    frame_.topBytes = static_cast<double>(top) * kHeadroom;
  }

  void addLine(const TrackRef& line, std::vector<MemoryColumn>& columns, int64_t& top) {
    const auto events = line.document->events(line.track);
    if (!events || events->pointCount() == 0) return;
    top = std::max(top, events->peak().bytes);
    const auto index = frame_.query.waits ? line.document->total(line.track) : line.document->readyTotal(line.track);
    if (index)
      columns = index->columns(frame_.scale);
    else
      frame_.isComplete = false;
  }

  void addStack(TrackId track) {
    if (!frame_.index) return note(Pane::stack, "Preparing …");
    const auto lifetimes = get(
        Pane::stack, [&] { return document_.readyLifetimes(track); }, [&] { return document_.lifetimes(track); });
    const double pixel = frame_.topBytes / frame_.query.heights[static_cast<size_t>(Pane::stack)];
    if (lifetimes)
      frame_.stack =
          layOutStack(*lifetimes, inWindow(*lifetimes), frame_.memory, static_cast<int64_t>(pixel * kMinStep) + 1);
  }

  /// The allocations that the stack and the addresses show, looked up once.
  const LifetimeIndex::InWindow& inWindow(const LifetimeIndex& lifetimes) {
    if (!inWindow_) inWindow_ = lifetimes.inWindow(frame_.scale.window(), StackLayout::kMaxShown);
    return *inWindow_;
  }

  void addAddresses(TrackId track) {
    const auto map = get(
        Pane::addresses, [&] { return document_.readyAddresses(track); }, [&] { return document_.addresses(track); });
    if (!map) return;
    if (map->empty()) return note(Pane::addresses, "No addresses were recorded for this track.");
    frame_.addresses = map;
    const double height = frame_.query.heights[static_cast<size_t>(Pane::addresses)];
    frame_.boxes = map->boxes(frame_.scale, height, inWindow(map->lifetimes()).largest);
    frame_.hasAllBoxes = inWindow_->alive == inWindow_->largest.size();
  }

  void addLanes() {
    int row = 0;
    for (TrackId track : document_.spanTracks()) {
      const auto spans = document_.spans(track);
      if (row + spans->rows() > kMaxSpanRows) break;
      frame_.lanes.push_back({track, row, spans->rows(), spans->boxes(frame_.scale)});
      row += spans->rows();
    }
    if (frame_.lanes.empty()) note(Pane::spans, "This trace has no Steps, kernels or annotations.");
  }

  const Document& document_;
  TimelineFrame frame_;
  std::optional<LifetimeIndex::InWindow> inWindow_;
};

}  // namespace

TimelineFrame makeFrame(TimelineQuery query) { return FrameMaker(std::move(query)).make(); }

void makeIndices(const TimelineQuery& query, const Progress& progress) {
  const Document& document = *query.document;
  const TrackId track = query.view.track;
  if (track == TrackId::none) return;
  document.memory(track, query.view.categories, progress);
  const TrackId segments = document.segmentsOf(track);
  if (segments != TrackId::none) document.total(segments, progress);
  const TrackRef& overlay = query.view.overlay;
  if (overlay.document && overlay.track != TrackId::none && overlay.document->events(overlay.track))
    overlay.document->total(overlay.track, progress);
  if (shows(query, Pane::stack)) document.lifetimes(track, progress);
  if (shows(query, Pane::addresses)) document.addresses(track, progress);
}

int spanRows(const Document& document) {
  int rows = 0;
  for (TrackId track : document.spanTracks()) {
    const int more = document.spans(track)->rows();
    if (rows + more > kMaxSpanRows) break;
    rows += more;
  }
  return rows;
}

}  // namespace moeblaze::gui
