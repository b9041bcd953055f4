#pragma once

#include <cstdint>

#include "traces/import/torch/range_map.h"
#include "traces/import/torch/torch_records.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// Replays what one device's allocator took from and gave back to the device. What it held before the first event is
/// what it held at the end with the events undone backwards.
class TorchSegments {
 public:
  /// Adds the segments older than the recording to `track`.
  TorchSegments(const TorchDevice& device, TrackId track, TraceImport& import);

  void apply(const TorchEvent& event, int64_t timeNs);
  /// Where the memory around `address` that the allocator may treat as one piece ends; `address` when it has none.
  uint64_t endAt(uint64_t address) const { return mapped_.endAt(address); }

 private:
  void take(const TorchEvent& event, int64_t timeNs);
  void give(uint64_t begin, uint64_t end, int64_t timeNs);

  TrackId track_;
  TraceImport& import_;
  RangeMap pieces_;  ///< values: indices of allocations
  RangeMap mapped_;  ///< the same memory, with expandable segments in one piece
};

}  // namespace moeblaze
