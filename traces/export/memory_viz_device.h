#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// An entry of device_traces to be written.
struct VizEvent {
  int64_t timeNs = 0;
  int rank = 0;  ///< order at one instant: memory is given back before it is taken
  std::string_view action;
  const Allocation* allocation = nullptr;
  uint64_t address = 0;
  int64_t bytes = 0;
};

/// A block at the end; free where it has no allocation.
struct VizBlock {
  const Allocation* allocation = nullptr;
  uint64_t address = 0;
  int64_t bytes = 0;
};

/// A segment at the end, its blocks covering it.
struct VizSegment {
  const Allocation* allocation = nullptr;  ///< whose stack and stream it has; null for one made up
  uint64_t address = 0;
  int64_t bytes = 0;
  bool joined = false;  ///< of several allocations, as expandable segments are
  std::vector<VizBlock> blocks;
};

/// One device of a trace as the snapshot format has it.
struct VizDevice {
  std::vector<VizEvent> events;
  std::vector<VizSegment> segments;
};

/// What a snapshot calls the size of an allocation: what was asked for.
inline int64_t requestedBytes(const Allocation& allocation) {
  return allocation.requestedBytes ? allocation.requestedBytes : allocation.bytes;
}

/// The observed and segments tracks of `device`; the result points into `trace`.
VizDevice makeVizDevice(const Trace& trace, int32_t device);

}  // namespace moeblaze
