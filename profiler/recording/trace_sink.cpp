#include "profiler/recording/trace_sink.h"

#include <algorithm>

namespace moeblaze::profiler {

TrackId MemorySink::addTrack(const Track& track) {
  trace_.tracks.push_back(track);
  return static_cast<TrackId>(trace_.tracks.size() - 1);
}

CounterId MemorySink::addCounter(TrackId track, StringId name, StringId unit) {
  trace_.counters.push_back({track, name, unit, {}});
  return static_cast<CounterId>(trace_.counters.size() - 1);
}

AllocationId MemorySink::addAllocation(const Allocation& allocation) {
  trace_.allocations.push_back(allocation);
  trace_.allocations.back().freeNs = trace_.allocations.back().freeRequestedNs = kNever;
  return static_cast<AllocationId>(trace_.allocations.size() - 1);
}

void MemorySink::addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) {
  Allocation& allocation = trace_.allocations[static_cast<size_t>(id)];
  allocation.freeNs = freeNs;
  allocation.freeRequestedNs = freeRequestedNs;
}

void MemorySink::addPoint(CounterId counter, int64_t timeNs, double value) {
  trace_.counters[static_cast<size_t>(counter)].points.emplace_back(timeNs, value);
}

void MemorySink::addLoss(std::string_view what, int64_t count) {
  // Counts of the same loss are added up, as readTrace does.
  const auto known = std::ranges::find(trace_.losses, what, &Loss::what);
  if (known == trace_.losses.end()) {
    trace_.losses.push_back({std::string(what), count});
  } else {
    known->count += count;
  }
}

}  // namespace moeblaze::profiler
