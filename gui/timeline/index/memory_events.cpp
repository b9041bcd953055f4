#include "gui/timeline/index/memory_events.h"

#include <algorithm>

#include "core/base/error.h"
#include "gui/timeline/index/time_order.h"

namespace moeblaze::gui {
namespace {

constexpr size_t kMaxAllocations = size_t{1} << 30;
constexpr size_t kCheckpointEvents = size_t{1} << 16;
constexpr size_t kReportEvery = size_t{1} << 20;

}  // namespace

MemoryEvents::MemoryEvents(std::shared_ptr<const Trace> trace, TrackId track, const Progress& progress)
    : trace_(std::move(trace)), track_(track) {
  const std::vector<Allocation>& all = trace_->allocations;
  if (all.size() > kMaxAllocations) refuse("trace", "{} allocations, must be at most {}", all.size(), kMaxAllocations);
  std::vector<Timed> allocs, frees;
  allocs.reserve(all.size());
  frees.reserve(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].track != track) continue;
    allocs.push_back({all[i].allocNs, static_cast<uint32_t>(i)});
    if (all[i].freeNs != kNever) frees.push_back({all[i].freeNs, static_cast<uint32_t>(i)});
  }
  progress.report(0.2);
  sortByTime(allocs, progress);
  sortByTime(frees, progress);
  progress.report(0.5);
  merge(allocs, frees, progress.part(0.5, 0.9));
  addCheckpoints(progress);
  progress.report(1);
}

void MemoryEvents::merge(std::span<const Timed> allocs, std::span<const Timed> frees, const Progress& progress) {
  const size_t events = allocs.size() + frees.size();
  refs_.reserve(events);
  times_.reserve(events);
  bytes_.reserve(events);
  firstEvents_.reserve(events + 1);
  int64_t bytes = 0;
  size_t alloc = 0, free = 0;
  while (alloc < allocs.size() || free < frees.size()) {
    const bool isFree = free < frees.size() && (alloc == allocs.size() || frees[free].timeNs <= allocs[alloc].timeNs);
    const Timed& event = isFree ? frees[free++] : allocs[alloc++];
    if (times_.empty() || times_.back() != event.timeNs) {
      times_.push_back(event.timeNs);
      bytes_.push_back(0);
      firstEvents_.push_back(static_cast<uint32_t>(refs_.size()));
    }
    refs_.push_back(event.index << 1 | static_cast<uint32_t>(isFree));
    bytes += isFree ? -trace_->allocations[event.index].bytes : trace_->allocations[event.index].bytes;
    bytes_.back() = bytes;
    if (refs_.size() % kReportEvery == 0)
      progress.report(static_cast<double>(refs_.size()) / static_cast<double>(events));
  }
  firstEvents_.push_back(static_cast<uint32_t>(refs_.size()));
  if (times_.size() < events / 2) {  // frees memory that was reserved for one instant per event
    times_.shrink_to_fit();
    bytes_.shrink_to_fit();
    firstEvents_.shrink_to_fit();
  }
  const auto peak = std::ranges::max_element(bytes_);
  if (peak != bytes_.end()) peak_ = {times_[static_cast<size_t>(peak - bytes_.begin())], *peak};
}

// Checkpoints are further apart the more allocations are alive. All of them together hold no more ids than there are
// events.
void MemoryEvents::addCheckpoints(const Progress& progress) {
  size_t live = 0, since = 0;
  for (size_t point = 0; point < pointCount(); ++point) {
    for (size_t at = firstEvent(point); at < firstEvent(point + 1); ++at) live += event(at).isFree ? size_t(-1) : 1;
    since += firstEvent(point + 1) - firstEvent(point);
    if (since < std::max(kCheckpointEvents, live)) continue;
    progress.check();
    Checkpoint next{point, {}};
    next.live.reserve(live);
    addLive(checkpoints_.empty() ? nullptr : &checkpoints_.back(), point, times_[point], next.live);
    checkpoints_.push_back(std::move(next));
    since = 0;
  }
}

/// Appends the allocations that are alive at `timeNs`: those of checkpoint `from`, and those made up to `toPoint`.
void MemoryEvents::addLive(const Checkpoint* from, size_t toPoint, int64_t timeNs, std::vector<uint32_t>& live) const {
  const std::vector<Allocation>& all = trace_->allocations;
  if (from)
    std::ranges::copy_if(from->live, std::back_inserter(live), [&](uint32_t i) { return timeNs < all[i].freeNs; });
  const size_t first = from ? firstEvent(from->point + 1) : 0;
  for (size_t at = first; at < firstEvent(toPoint + 1); ++at)
    if (const Event e = event(at); !e.isFree && timeNs < all[e.allocation].freeNs) live.push_back(e.allocation);
}

int64_t MemoryEvents::bytesAt(int64_t timeNs) const {
  const auto after = std::ranges::upper_bound(times_, timeNs);
  return after == times_.begin() ? 0 : bytes_[static_cast<size_t>(after - times_.begin()) - 1];
}

std::vector<size_t> MemoryEvents::liveAt(int64_t timeNs) const {
  const auto after = std::ranges::upper_bound(times_, timeNs);
  if (after == times_.begin()) return {};
  const size_t point = static_cast<size_t>(after - times_.begin()) - 1;
  const auto next = std::ranges::upper_bound(checkpoints_, point, {}, &Checkpoint::point);
  std::vector<uint32_t> live;
  addLive(next == checkpoints_.begin() ? nullptr : &*(next - 1), point, timeNs, live);
  std::ranges::sort(live, [&](uint32_t a, uint32_t b) {
    const int64_t aBytes = trace_->allocations[a].bytes, bBytes = trace_->allocations[b].bytes;
    return aBytes != bBytes ? aBytes > bBytes : a < b;
  });
  return {live.begin(), live.end()};
}

std::optional<int64_t> MemoryEvents::nextEvent(int64_t timeNs) const {
  const auto next = std::ranges::upper_bound(times_, timeNs);
  return next == times_.end() ? std::nullopt : std::optional(*next);
}

std::optional<int64_t> MemoryEvents::previousEvent(int64_t timeNs) const {
  const auto next = std::ranges::lower_bound(times_, timeNs);
  return next == times_.begin() ? std::nullopt : std::optional(*(next - 1));
}

}  // namespace moeblaze::gui
