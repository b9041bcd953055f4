#pragma once

#include <unordered_map>

#include "profiler/cupti/events.h"
#include "profiler/recording/bounded_writer.h"
#include "profiler/recording/recorded_tracks.h"
#include "profiler/recording/recording_clock.h"

namespace moeblaze::profiler {

/// Joins the edges of NVTX ranges to spans, whichever edge is told first.
class RangeJoiner {
 public:
  RangeJoiner(BoundedWriter& writer, RecordedTracks& tracks, const RecordingClock& clock)
      : writer_(writer), tracks_(tracks), clock_(clock) {}

  void add(const RangeEvent& event);
  /// Ranges still open are written until `endNs`.
  void finish(int64_t endNs);

 private:
  void write(const RangeEvent& start, int64_t endNs);

  BoundedWriter& writer_;
  RecordedTracks& tracks_;
  const RecordingClock& clock_;
  std::unordered_map<uint32_t, RangeEvent> open_;     ///< by id
  std::unordered_map<uint32_t, int64_t> endedEarly_;  ///< ends whose start was not told yet
};

}  // namespace moeblaze::profiler
