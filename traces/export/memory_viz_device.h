#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// An entry of device_traces.
struct VizEvent {
  int64_t timeNs = 0;
  int rank = 0;  ///< orders the events of one instant, so that memory is given back before it is taken
  std::string_view action;
  const Allocation* allocation = nullptr;
  uint64_t address = 0;
  int64_t bytes = 0;
};

/// A block at the end of the trace. It is free memory when it has no allocation.
struct VizBlock {
  const Allocation* allocation = nullptr;
  uint64_t address = 0;
  int64_t bytes = 0;
};

/// A segment at the end of the trace. Its blocks cover it without gaps.
struct VizSegment {
  const Allocation* allocation = nullptr;  ///< gives its stack and stream; null for a segment that was made up
  uint64_t address = 0;
  int64_t bytes = 0;
  bool joined = false;  ///< whether it is made of several allocations, as expandable segments are
  std::vector<VizBlock> blocks;
};

/// One device of a trace in the terms of the snapshot format.
struct VizDevice {
  std::vector<VizEvent> events;
  std::vector<VizSegment> segments;
};

/// The bytes that were asked for, which a snapshot gives as the size of an allocation.
inline int64_t requestedBytes(const Allocation& allocation) {
  return allocation.requestedBytes ? allocation.requestedBytes : allocation.bytes;
}

/// Collects the observed and segments tracks of `device`. The result points into `trace`.
VizDevice makeVizDevice(const Trace& trace, int32_t device);

}  // namespace moeblaze
