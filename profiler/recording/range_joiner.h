#pragma once

#include <unordered_map>

#include "profiler/cupti/events.h"
#include "profiler/recording/bounded_writer.h"
#include "profiler/recording/recorded_tracks.h"
#include "profiler/recording/recording_clock.h"

namespace moeblaze::profiler {

/// Joins the two edges of each NVTX range into a span. The edges may be added in either order.
class RangeJoiner {
 public:
  RangeJoiner(BoundedWriter& writer, RecordedTracks& tracks, const RecordingClock& clock)
      : writer_(writer), tracks_(tracks), clock_(clock) {}

  void add(const RangeEvent& event);
  /// Writes the ranges that are still open as if they ended at `endNs` of the profiler's clock.
  void finish(int64_t endNs);

 private:
  void write(const RangeEvent& start, int64_t endNs);

  BoundedWriter& writer_;
  RecordedTracks& tracks_;
  const RecordingClock& clock_;
  std::unordered_map<uint32_t, RangeEvent> open_;     ///< starts without an end, by id
  std::unordered_map<uint32_t, int64_t> endedEarly_;  ///< times of ends without a start, by id
};

}  // namespace moeblaze::profiler
