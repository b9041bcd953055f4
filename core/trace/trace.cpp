#include "core/trace/trace.h"

#include <algorithm>
#include <array>
#include <cassert>

namespace moeblaze {

StringId Strings::add(std::string_view text) {
  const auto [entry, isNew] = ids_.try_emplace(std::string(text), static_cast<StringId>(texts_.size()));
  if (isNew) texts_.push_back(entry->first);
  return entry->second;
}

StackId Stacks::add(std::vector<Frame> frames) {
  size_t hash = frames.size();
  for (const Frame& frame : frames)
    for (size_t part : {index(frame.function), index(frame.file), static_cast<size_t>(frame.line)})
      hash = (hash ^ part) * 0x9e3779b97f4a7c15u;
  const auto [first, last] = ids_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (stacks_[index(it->second)] == frames) return it->second;
  const StackId id = static_cast<StackId>(stacks_.size());
  ids_.emplace(hash, id);
  stacks_.push_back(std::move(frames));
  return id;
}

std::string_view name(TrackKind kind) {
  constexpr std::array<std::string_view, 3> kNames{"planned", "observed", "segments"};
  return kNames[static_cast<size_t>(kind)];
}

Trace makeTrace(const Plan& plan, std::span<const int64_t> stepNs) {
  assert(stepNs.size() == plan.steps.size());
  Trace trace;
  trace.meta = {{"source", "plan"}, {"config", plan.config.name}, {"system", plan.system}, {"routing", plan.routing}};
  trace.tracks.push_back({plan.system, TrackKind::planned});
  constexpr TrackId kTrack{0};

  std::vector<int64_t> starts{0};
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    trace.spans.push_back(
        {kTrack, trace.strings.add(plan.steps[i].name), starts[i], stepNs[i], static_cast<StepId>(i)});
    starts.push_back(starts[i] + stepNs[i]);
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.external || !buffer.ownsStorage()) continue;
    const auto [first, last] = buffer.lifetime;
    trace.allocations.push_back({.track = kTrack,
                                 .name = trace.strings.add(buffer.name),
                                 .role = buffer.role,
                                 .buffer = static_cast<BufferId>(i),
                                 .bytes = buffer.bytes,
                                 .allocNs = starts[first],
                                 .freeNs = buffer.isResult() ? kNever : starts[last + 1],
                                 .step = static_cast<StepId>(first)});
  }
  return trace;
}

MemoryCurve::MemoryCurve(const Trace& trace, TrackId track) : trace_(&trace), track_(track) {
  std::vector<Point> changes;  // `bytes` is the change at this time, not yet the sum
  for (const Allocation& allocation : trace.allocations) {
    if (allocation.track != track) continue;
    changes.push_back({allocation.allocNs, allocation.bytes});
    if (allocation.freeNs != kNever) changes.push_back({allocation.freeNs, -allocation.bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Point& a, const Point& b) { return a.timeNs < b.timeNs; });
  int64_t bytes = 0;
  for (const Point& change : changes) {
    bytes += change.bytes;
    if (points_.empty() || points_.back().timeNs != change.timeNs) points_.push_back({change.timeNs, 0});
    points_.back().bytes = bytes;
  }
}

MemoryCurve::Point MemoryCurve::peak() const {
  const auto peak = std::max_element(points_.begin(), points_.end(),
                                     [](const Point& a, const Point& b) { return a.bytes < b.bytes; });
  return peak == points_.end() ? Point{} : *peak;
}

int64_t MemoryCurve::bytesAt(int64_t timeNs) const {
  const auto after = std::upper_bound(points_.begin(), points_.end(), timeNs,
                                      [](int64_t time, const Point& point) { return time < point.timeNs; });
  return after == points_.begin() ? 0 : (after - 1)->bytes;
}

std::vector<size_t> MemoryCurve::liveAt(int64_t timeNs) const {
  std::vector<size_t> live;
  for (size_t i = 0; i < trace_->allocations.size(); ++i) {
    const Allocation& allocation = trace_->allocations[i];
    if (allocation.track == track_ && allocation.allocNs <= timeNs && timeNs < allocation.freeNs) live.push_back(i);
  }
  std::stable_sort(live.begin(), live.end(),
                   [&](size_t a, size_t b) { return trace_->allocations[a].bytes > trace_->allocations[b].bytes; });
  return live;
}

}  // namespace moeblaze
