#include "traces/figures/figures.h"

#include <algorithm>

namespace moeblaze {

std::vector<TrackFigures> figuresOf(const Trace& trace) {
  std::vector<TrackFigures> all;
  for (size_t i = 0; i < trace.tracks.size(); ++i) {
    TrackFigures figures{.track = static_cast<TrackId>(i)};
    for (const Allocation& allocation : trace.allocations) {
      if (allocation.track != figures.track) continue;
      ++figures.allocations;
      figures.frees += allocation.freeNs != kNever;
    }
    if (figures.allocations == 0) continue;
    const MemoryCurve curve(trace, figures.track);
    figures.peakBytes = curve.peak().bytes;
    figures.peakNs = curve.peak().timeNs;
    figures.endBytes = curve.points().back().bytes;
    all.push_back(figures);
  }
  return all;
}

int64_t durationOf(const Trace& trace) {
  int64_t first = kNever, last = 0;
  const auto see = [&](int64_t ns) {
    if (ns == kNever) return;
    first = std::min(first, ns);
    last = std::max(last, ns);
  };
  for (const Span& span : trace.spans) see(span.startNs), see(span.startNs + span.durationNs);
  for (const Allocation& allocation : trace.allocations) see(allocation.allocNs), see(allocation.freeNs);
  for (const Counter& counter : trace.counters)
    for (const auto& [ns, value] : counter.points) see(ns);
  return first == kNever ? 0 : last - first;
}

namespace {

/// Whether a track holds nothing but parameters and inputs, which are given before a step and not part of its memory.
bool isGiven(const Trace& trace, TrackId track) {
  return std::ranges::all_of(trace.allocations, [&](const Allocation& allocation) {
    return allocation.track != track || allocation.role == Role::weight || allocation.role == Role::input;
  });
}

}  // namespace

std::optional<TrackId> mainTrack(const Trace& trace) {
  std::optional<TrackId> best;
  int64_t most = -1;
  for (const TrackKind kind : {TrackKind::observed, TrackKind::planned}) {
    for (const TrackFigures& figures : figuresOf(trace))
      if (trace.tracks[index(figures.track)].kind == kind && figures.peakBytes > most && !isGiven(trace, figures.track))
        best = figures.track, most = figures.peakBytes;
    if (best) return best;
  }
  return best;
}

std::optional<TrackId> segmentsOf(const Trace& trace, TrackId track) {
  for (size_t i = 0; i < trace.tracks.size(); ++i)
    if (trace.tracks[i].kind == TrackKind::segments && trace.tracks[i].device == trace.tracks[index(track)].device)
      return static_cast<TrackId>(i);
  return std::nullopt;
}

}  // namespace moeblaze
