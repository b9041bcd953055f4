#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/trace.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// One allocation or free at an address, as a recording states it.
struct AddressEvent {
  int64_t timeNs = 0;  ///< within kMaxTimeNs, in either direction
  int64_t order = 0;   ///< orders the events of one instant
  uint64_t address = 0;
  int64_t bytes = 0;  ///< 0 to kMaxAllocationBytes; a free states it too, or 0 when it does not know
  bool isFree = false;
  StringId name = StringId::empty;
  int64_t stream = 0;
  int64_t totalAllocated = -1;  ///< bytes allocated after this event; -1 when not stated
  int64_t totalReserved = -1;   ///< bytes reserved after this event; -1 when not stated
};

/// Turns allocations and frees of one address space, given in any order, into the Allocations of one track.
class MemoryLog {
 public:
  void add(const AddressEvent& event) { events_.push_back(event); }

  /// Matches frees to allocations by address, and adds the allocations to the trace and the stated totals as counters.
  /// A free without an allocation frees one that is older than the recording. What else existed before, by the first
  /// stated total, becomes one older allocation without an address. Times count from `originNs`. Events of one instant
  /// are put 1 ns apart, so that the memory curve has a point after each. What does not fit together is counted as a
  /// loss.
  void finish(TraceImport& import, TrackId track, int64_t originNs);

 private:
  void sort(int64_t originNs);

  std::vector<AddressEvent> events_;
};

}  // namespace moeblaze
