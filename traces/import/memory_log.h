#pragma once

#include <cstdint>
#include <vector>

#include "core/trace/trace.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// One allocation or free as a recording states it.
struct MemoryEvent {
  int64_t timeNs = 0;
  int64_t order = 0;  ///< among events of one instant
  uint64_t address = 0;
  int64_t bytes = 0;  ///< not negative; of a free as well, 0 when it does not say
  bool isFree = false;
  StringId name = StringId::empty;
  int64_t stream = 0;
  int64_t totalAllocated = -1;  ///< after this event, -1 when not stated
  int64_t totalReserved = -1;
};

/// The largest time and size an importer lets into a Trace: sums of them stay within int64.
inline constexpr int64_t kMaxTimeNs = int64_t{1} << 62;
inline constexpr int64_t kMaxDurationNs = int64_t{1} << 60;
inline constexpr int64_t kMaxBytes = int64_t{1} << 60;

/// Turns allocations and frees of one address space, in any order, into the Allocations of one track.
class MemoryLog {
 public:
  void add(const MemoryEvent& event) { events_.push_back(event); }
  size_t size() const { return events_.size(); }

  /// Matches frees to allocations by address and adds the allocations, and the stated totals as counters, to the
  /// trace. A free without an allocation frees one older than the recording; what else existed before, by the first
  /// stated total, is one older allocation without an address. Times count from `originNs`; events of one instant are
  /// put 1 ns apart, so the curve has a point after each. What does not fit together is counted as a loss.
  void finish(TraceImport& import, TrackId track, int64_t originNs);

 private:
  void sort(int64_t originNs);

  std::vector<MemoryEvent> events_;
};

}  // namespace moeblaze
