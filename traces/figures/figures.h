#pragma once

#include <optional>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// What one track's allocations come to.
struct TrackFigures {
  TrackId track = TrackId::none;
  int64_t allocations = 0, frees = 0;
  int64_t peakBytes = 0, peakNs = 0;  ///< most alive at once, and when first
  int64_t endBytes = 0;               ///< alive at the end
};

/// Every track that has allocations, in order.
std::vector<TrackFigures> figuresOf(const Trace& trace);

/// From the first to the last instant at which anything happened, ns.
int64_t durationOf(const Trace& trace);

/// The track that tells what a program's tensors took: the observed one with the highest peak, else the planned one;
/// one of nothing but parameters and inputs is neither. Empty when the trace has no memory.
std::optional<TrackId> mainTrack(const Trace& trace);

/// The segments of the same device: what was reserved for them. Empty when nobody recorded that.
std::optional<TrackId> segmentsOf(const Trace& trace, TrackId track);

}  // namespace moeblaze
