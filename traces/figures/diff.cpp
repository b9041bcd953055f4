#include "traces/figures/diff.h"

#include <algorithm>
#include <functional>
#include <map>

#include "traces/figures/figures.h"

namespace moeblaze {
namespace {

/// Most large allocations of a trace that are aligned. The cost of aligning grows with the square of their number.
constexpr size_t kMaxLarge = 3000;
/// Two sizes count as the same when they differ by at most this or by a thousandth, because allocators round sizes.
constexpr int64_t kSlackBytes = 512;

int64_t peakOf(const Trace& trace, std::optional<TrackId> track) {
  return track ? MemoryCurve(trace, *track).peak().bytes : 0;
}

using Totals = std::map<std::string, std::pair<int64_t, int64_t>>;

/// Adds the bytes alive at the track's peak to one side of the totals, under the key that `keyOf` gives.
void addLive(const Trace& trace, TrackId track, int64_t std::pair<int64_t, int64_t>::*side,
             const std::function<std::string(const Allocation&)>& keyOf, Totals& totals) {
  const MemoryCurve curve(trace, track);
  for (size_t i : curve.liveAt(curve.peak().timeNs))
    totals[keyOf(trace.allocations[i])].*side += trace.allocations[i].bytes;
}

std::vector<TraceDiff::Live> sorted(const Totals& totals) {
  std::vector<TraceDiff::Live> list;
  for (const auto& [what, bytes] : totals) list.push_back({what, bytes.first, bytes.second});
  std::ranges::stable_sort(list, std::greater{}, [](const auto& live) { return std::abs(live.aBytes - live.bBytes); });
  return list;
}

std::string nameOf(const Trace& trace, const Allocation& allocation) {
  const std::string& text = trace.strings[allocation.name];
  return text.empty() ? "(unnamed)" : text;
}

/// The track's allocations of at least `least` bytes, in the order in which they were allocated.
std::vector<const Allocation*> largeOf(const Trace& trace, TrackId track, int64_t least) {
  std::vector<const Allocation*> list;
  for (const Allocation& allocation : trace.allocations)
    if (allocation.track == track && allocation.bytes >= least) list.push_back(&allocation);
  if (list.size() > kMaxLarge) {
    std::ranges::nth_element(list, list.begin() + kMaxLarge, std::greater{}, &Allocation::bytes);
    list.resize(kMaxLarge);
  }
  std::ranges::stable_sort(list, {}, &Allocation::allocNs);
  return list;
}

bool sameSize(const Allocation& a, const Allocation& b) {
  return std::abs(a.bytes - b.bytes) <= std::max(kSlackBytes, std::max(a.bytes, b.bytes) / 1000);
}

int64_t lifeOf(const Allocation& allocation) {
  return allocation.freeNs == kNever ? kNever : allocation.freeNs - allocation.allocNs;
}

/// Aligns allocations by the longest common subsequence of their sizes. What is not part of it stands alone.
std::vector<TraceDiff::Pair> align(const Trace& aTrace, const std::vector<const Allocation*>& a, const Trace& bTrace,
                                   const std::vector<const Allocation*>& b) {
  const size_t width = b.size() + 1;
  std::vector<uint16_t> common((a.size() + 1) * width);  // at i, j: the length for what follows these positions
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      common[i * width + j] = sameSize(*a[i], *b[j]) ? static_cast<uint16_t>(common[(i + 1) * width + j + 1] + 1)
                                                     : std::max(common[(i + 1) * width + j], common[i * width + j + 1]);
  std::vector<TraceDiff::Pair> pairs;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    TraceDiff::Pair& pair = pairs.emplace_back();
    const bool both = i < a.size() && j < b.size() && sameSize(*a[i], *b[j]);
    const bool takeA =
        both || j == b.size() || (i < a.size() && common[(i + 1) * width + j] >= common[i * width + j + 1]);
    if (takeA) pair.aName = nameOf(aTrace, *a[i]), pair.aBytes = a[i]->bytes, pair.aLifeNs = lifeOf(*a[i]), ++i;
    if (both || !takeA)
      pair.bName = nameOf(bTrace, *b[j]), pair.bBytes = b[j]->bytes, pair.bLifeNs = lifeOf(*b[j]), ++j;
  }
  return pairs;
}

std::vector<TraceDiff::Time> timesOf(const Trace& a, const Trace& b) {
  std::map<std::string, std::pair<int64_t, int64_t>> totals;
  for (const Span& span : a.spans) totals[a.strings[span.name]].first += span.durationNs;
  for (const Span& span : b.spans) totals[b.strings[span.name]].second += span.durationNs;
  std::vector<TraceDiff::Time> times;
  for (const auto& [name, ns] : totals) times.push_back({name, ns.first, ns.second});
  std::ranges::stable_sort(times, std::greater{}, [](const auto& time) { return std::abs(time.aNs - time.bNs); });
  return times;
}

}  // namespace

TraceDiff diffTraces(const Trace& a, TrackId aTrack, const Trace& b, TrackId bTrack) {
  TraceDiff diff;
  diff.aPeak = peakOf(a, aTrack), diff.bPeak = peakOf(b, bTrack);
  diff.aReserved = peakOf(a, segmentsOf(a, aTrack)), diff.bReserved = peakOf(b, segmentsOf(b, bTrack));
  const auto live = [&](const auto& keyOf) {
    using Sides = std::pair<int64_t, int64_t>;
    Totals totals;
    addLive(
        a, aTrack, &Sides::first, [&](const Allocation& allocation) { return keyOf(a, allocation); }, totals);
    addLive(
        b, bTrack, &Sides::second, [&](const Allocation& allocation) { return keyOf(b, allocation); }, totals);
    return sorted(totals);
  };
  diff.byRole = live([](const Trace&, const Allocation& allocation) { return std::string(name(allocation.role)); });
  diff.byName = live(nameOf);
  diff.largeBytes = std::max<int64_t>(1, std::max(diff.aPeak, diff.bPeak) / 1000);
  diff.large = align(a, largeOf(a, aTrack, diff.largeBytes), b, largeOf(b, bTrack, diff.largeBytes));
  diff.times = timesOf(a, b);
  return diff;
}

}  // namespace moeblaze
