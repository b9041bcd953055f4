#pragma once

#include <optional>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// Totals of one track's allocations.
struct TrackFigures {
  TrackId track = TrackId::none;
  int64_t allocations = 0, frees = 0;
  int64_t peakBytes = 0, peakNs = 0;  ///< most bytes alive at once, and the first time when they were
  int64_t endBytes = 0;               ///< bytes alive at the end
};

/// The figures of every track that has allocations, in the order of tracks.
std::vector<TrackFigures> figuresOf(const Trace& trace);

/// The time from the first to the last instant at which anything happened, in ns.
int64_t durationOf(const Trace& trace);

/// The track that tells what a program's tensors took: the observed track with the highest peak, or else the planned
/// one. A track that holds only parameters and inputs is never taken. Empty when the trace has no such track.
std::optional<TrackId> mainTrack(const Trace& trace);

/// The track with the segments of the same device as `track`: the memory that its allocator reserved. Empty when the
/// trace has none.
std::optional<TrackId> segmentsOf(const Trace& trace, TrackId track);

}  // namespace moeblaze
