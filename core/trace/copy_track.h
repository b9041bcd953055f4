#pragma once

#include "core/trace/trace.h"

namespace moeblaze {

/// Adds the spans and allocations on track `fromTrack` of `from` to track `toTrack` of `to`, all `shiftNs` later. Their
/// texts and stacks are added to those of `to`. Allocations that are never freed end at `openEndNs`, a time in `to`.
void copyTrack(const Trace& from, TrackId fromTrack, Trace& to, TrackId toTrack, int64_t shiftNs = 0,
               int64_t openEndNs = kNever);

/// When the last span of a track ends, in ns; 0 when the track has no spans.
int64_t lastSpanEndNs(const Trace& trace, TrackId track);

}  // namespace moeblaze
