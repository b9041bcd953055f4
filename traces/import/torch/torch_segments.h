#pragma once

#include <cstdint>

#include "traces/import/torch/range_map.h"
#include "traces/import/torch/torch_records.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// Replays what one device's allocator took from the device and gave back to it. What the allocator held before the
/// first event is found from what it held at the end, by undoing the events from the last to the first.
class TorchSegments {
 public:
  /// Adds the segments that are older than the recording to `track`.
  TorchSegments(const TorchDevice& device, TrackId track, TraceImport& import);

  /// Applies the next event. Returns the memory that the allocator holds after it; each range is memory that it may
  /// treat as one piece. TorchBlocks needs it for the same event.
  const RangeMap& apply(const TorchEvent& event, int64_t timeNs);

 private:
  void take(const TorchEvent& event, int64_t timeNs);
  void give(uint64_t begin, uint64_t end, int64_t timeNs);

  TrackId track_;
  TraceImport& import_;
  RangeMap pieces_;  ///< the values are indices of allocations
  RangeMap mapped_;  ///< the same memory, but adjoining expandable segments are one range
};

}  // namespace moeblaze
