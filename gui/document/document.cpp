#include "gui/document/document.h"

#include <algorithm>
#include <tuple>

#include "gui/timeline/index/span_order.h"
#include "traces/figures/figures.h"

namespace moeblaze::gui {
namespace {

constexpr int kTotal = -1;  ///< the variant of a MemoryIndex without bands; the other variants are Attribute values

}  // namespace

Document::Document(std::shared_ptr<const Trace> trace, std::string path, std::string title, const Progress& progress)
    : trace_(std::move(trace)), path_(std::move(path)), title_(std::move(title)) {
  findTracks();
  stepNames_ = stepNames(*trace_);
  const double parts = static_cast<double>(memoryTracks_.size() + spanTracks_.size() + 1);
  double done = 0;
  const auto nextPart = [&] { return progress.part(done / parts, (done + 1) / parts); };
  for (TrackId track : memoryTracks_) {
    events_[track] = std::make_shared<MemoryEvents>(trace_, track, nextPart());
    const TrackId segments = segmentsOf(track);
    if (segments != TrackId::none && !events(segments))
      events_[segments] = std::make_shared<MemoryEvents>(trace_, segments, Progress{{}, progress.stop});
    ++done;
  }
  for (TrackId track : spanTracks_) {
    spans_[track] = std::make_shared<SpanLanes>(trace_, track, nextPart());
    ++done;
  }
  findBounds();
  findMainTrack();
  findMainCategories();
  if (mainTrack_ != TrackId::none) memory(mainTrack_, mainCategories_);
  progress.report(1);
}

void Document::findTracks() {
  std::vector<bool> hasAllocations(trace_->tracks.size()), hasSpans(trace_->tracks.size());
  for (const Allocation& allocation : trace_->allocations)
    if (allocation.track != TrackId::none) hasAllocations[index(allocation.track)] = true;
  for (const Span& span : trace_->spans)
    if (span.track != TrackId::none) hasSpans[index(span.track)] = true;
  for (size_t i = 0; i < trace_->tracks.size(); ++i) {
    const bool isMemory = trace_->tracks[i].kind != TrackKind::segments;
    if (hasAllocations[i] && isMemory) memoryTracks_.push_back(static_cast<TrackId>(i));
    if (hasSpans[i]) spanTracks_.push_back(static_cast<TrackId>(i));
  }
  sortBySpanContent(*trace_, spanTracks_);
}

std::string_view Document::stepName(StepId step) const {
  const bool isKnown = step != StepId::none && index(step) < stepNames_.size();
  return isKnown ? std::string_view(trace_->strings[stepNames_[index(step)]]) : std::string_view();
}

void Document::findBounds() {
  int64_t startNs = kNever, endNs = -kNever;
  for (const auto& [track, events] : events_) {
    if (events->pointCount() == 0) continue;
    startNs = std::min(startNs, events->times().front());
    endNs = std::max(endNs, events->times().back());
  }
  const bool hasMemory = startNs <= endNs;
  std::vector<bool> counts(trace_->tracks.size(), true);
  for (const TrackId track : spanTracks_)
    counts[index(track)] = !hasMemory || spanContent(trace_->tracks[index(track)]) != SpanContent::overhead;
  for (const Span& span : trace_->spans) {
    if (span.track == TrackId::none || !counts[index(span.track)]) continue;
    startNs = std::min(startNs, span.startNs);
    endNs = std::max(endNs, span.startNs + span.durationNs);
  }
  if (startNs > endNs) startNs = endNs = 0;
  const int64_t room = std::max<int64_t>(kMinSpanNs, (endNs - startNs) / 50);
  bounds_ = {startNs - room, endNs + room};
}

/// Chooses as moeblaze::mainTrack does, but from data that is there already, and takes a track of parameters rather
/// than none.
void Document::findMainTrack() {
  std::vector<bool> isGiven(trace_->tracks.size(), true);
  for (const Allocation& allocation : trace_->allocations)
    if (allocation.track != TrackId::none && allocation.role != Role::weight && allocation.role != Role::input)
      isGiven[index(allocation.track)] = false;
  const auto rank = [&](TrackId track) {
    const bool isObserved = trace_->tracks[index(track)].kind == TrackKind::observed;
    return std::tuple(!isGiven[index(track)], isObserved, events(track)->peak().bytes);
  };
  for (TrackId track : memoryTracks_)
    if (mainTrack_ == TrackId::none || rank(track) > rank(mainTrack_)) mainTrack_ = track;
}

void Document::findMainCategories() {
  bool hasRole = false, hasStack = false, hasName = false;
  for (const Allocation& allocation : trace_->allocations) {
    if (allocation.track != mainTrack_) continue;
    hasRole = hasRole || allocation.role != Role::unknown;
    hasStack = hasStack || allocation.stack != StackId::none;
    hasName = hasName || allocation.name != StringId::empty;
  }
  if (!hasRole && (hasStack || hasName)) mainCategories_ = hasStack ? Attribute::stack : Attribute::name;
}

TrackId Document::overlayOf(TrackId track) const {
  const TrackKind kind = trace_->tracks[index(track)].kind;
  const auto other = std::ranges::find_if(
      memoryTracks_, [&](TrackId candidate) { return trace_->tracks[index(candidate)].kind != kind; });
  return other == memoryTracks_.end() ? TrackId::none : *other;
}

TrackId Document::segmentsOf(TrackId track) const {
  if (trace_->tracks[index(track)].kind != TrackKind::observed) return TrackId::none;
  return moeblaze::segmentsOf(*trace_, track).value_or(TrackId::none);
}

std::shared_ptr<const MemoryEvents> Document::events(TrackId track) const {
  const auto found = events_.find(track);
  return found == events_.end() ? nullptr : found->second;
}

template <typename Value>
template <typename Make>
std::shared_ptr<const Value> Document::Made<Value>::get(TrackId track, int variant, Make make) {
  const std::scoped_lock making(making_);
  if (auto found = find(track, variant)) return found;
  std::shared_ptr<const Value> value = make();
  const std::scoped_lock lock(mutex_);
  return values_[{track, variant}] = std::move(value);
}

template <typename Value>
std::shared_ptr<const Value> Document::Made<Value>::find(TrackId track, int variant) {
  const std::scoped_lock lock(mutex_);
  const auto found = values_.find({track, variant});
  return found == values_.end() ? nullptr : found->second;
}

std::shared_ptr<const MemoryIndex> Document::memory(TrackId track, Attribute attribute,
                                                    const Progress& progress) const {
  return memory_.get(track, static_cast<int>(attribute), [&] {
    return std::make_shared<const MemoryIndex>(events(track), Categorizer(*trace_, track, attribute), progress);
  });
}

std::shared_ptr<const MemoryIndex> Document::total(TrackId track, const Progress& progress) const {
  return memory_.get(track, kTotal, [&] {
    return std::make_shared<const MemoryIndex>(events(track), Categorizer(trace_->tracks[index(track)].name), progress);
  });
}

std::shared_ptr<const LifetimeIndex> Document::lifetimes(TrackId track, const Progress& progress) const {
  return lifetimes_.get(track, 0, [&] { return std::make_shared<const LifetimeIndex>(trace_, track, progress); });
}

std::shared_ptr<const AddressMap> Document::addresses(TrackId track, const Progress& progress) const {
  return addresses_.get(track, 0, [&] {
    return std::make_shared<const AddressMap>(lifetimes(track, progress), *events(track), segmentsOf(track), progress);
  });
}

std::shared_ptr<const MemoryIndex> Document::readyMemory(TrackId track, Attribute attribute) const {
  return memory_.find(track, static_cast<int>(attribute));
}

std::shared_ptr<const MemoryIndex> Document::readyTotal(TrackId track) const { return memory_.find(track, kTotal); }

std::shared_ptr<const LifetimeIndex> Document::readyLifetimes(TrackId track) const { return lifetimes_.find(track, 0); }

std::shared_ptr<const AddressMap> Document::readyAddresses(TrackId track) const { return addresses_.find(track, 0); }

std::shared_ptr<const SpanLanes> Document::spans(TrackId track) const {
  const auto found = spans_.find(track);
  return found == spans_.end() ? nullptr : found->second;
}

std::shared_ptr<const Document> makeDocument(Trace trace, std::string title, const Progress& progress) {
  return std::make_shared<const Document>(std::make_shared<const Trace>(std::move(trace)), std::string(),
                                          std::move(title), progress);
}

}  // namespace moeblaze::gui
