#include "traces/import/memory_log.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/trace/live_by_address.h"
#include "core/trace/trace_limits.h"

namespace moeblaze {
namespace {

/// Replays the sorted events of one track.
class Replay {
 public:
  Replay(TraceImport& import, TrackId track) : import_(import), trace_(import.trace()), track_(track) {}

  void apply(const AddressEvent& event) {
    checkTotal(event);
    event.isFree ? free(event) : allocate(event);
    addPoint(allocated_, event.timeNs, event.totalAllocated);
    addPoint(reserved_, event.timeNs, event.totalReserved);
  }

  void finish() {
    addRemainder();
    addCounter("Total Allocated", allocated_);
    addCounter("Total Reserved", reserved_);
  }

 private:
  using Points = std::vector<std::pair<int64_t, double>>;

  void allocate(const AddressEvent& event) {
    if (event.bytes == 0) return import_.lose("allocations of no bytes");
    const size_t added = import_.add({.track = track_,
                                      .name = event.name,
                                      .bytes = event.bytes,
                                      .allocNs = event.timeNs,
                                      .address = event.address,
                                      .stream = event.stream});
    if (const auto before = live_.allocate(event.address, added)) {
      import_.lose("frees missing: memory was allocated again at an address in use");
      trace_.allocations[*before].freeNs = event.timeNs;
    }
  }

  void free(const AddressEvent& event) {
    if (const auto freed = live_.free(event.address)) {
      Allocation& allocation = trace_.allocations[*freed];
      if (event.bytes != 0 && event.bytes != allocation.bytes) import_.lose("frees of another size than was allocated");
      allocation.freeNs = event.timeNs;
      return;
    }
    if (event.bytes == 0) return import_.lose("frees of memory older than the recording, of unknown size");
    olderBytes_ += event.bytes;
    import_.add({.track = track_,
                 .name = event.name,
                 .older = true,
                 .bytes = event.bytes,
                 .freeNs = event.timeNs,
                 .address = event.address,
                 .stream = event.stream});
  }

  /// Notes how much the first stated total says existed before, and counts totals that do not follow from the total
  /// before them. It calculates modulo 2^64, so that no file can make it overflow.
  void checkTotal(const AddressEvent& event) {
    const auto change = static_cast<uint64_t>(event.isFree ? -event.bytes : event.bytes);
    changes_ += change;
    if (event.totalAllocated < 0) return;
    const auto total = static_cast<uint64_t>(event.totalAllocated);
    if (!before_) {
      before_ = total - changes_;
    } else if (*before_ + changes_ != total) {
      import_.lose("totals that do not follow from the events before them");
      changes_ = total - *before_;
    }
  }

  void addRemainder() {
    const auto before = static_cast<int64_t>(before_.value_or(0));
    const int64_t bytes = before < 0 || before > kMaxAllocationBytes ? 0 : before - olderBytes_;
    if (bytes <= 0) return;
    import_.add(
        {.track = track_, .name = trace_.strings.add("allocated before the recording"), .older = true, .bytes = bytes});
  }

  static void addPoint(Points& points, int64_t timeNs, int64_t value) {
    if (value >= 0) points.emplace_back(timeNs, static_cast<double>(value));
  }

  void addCounter(std::string_view name, Points& points) {
    if (points.empty()) return;
    trace_.counters.push_back({track_, trace_.strings.add(name), trace_.strings.add("bytes"), std::move(points)});
  }

  TraceImport& import_;
  Trace& trace_;
  TrackId track_;
  LiveByAddress<size_t> live_;  ///< indices of allocations
  Points allocated_, reserved_;
  std::optional<uint64_t> before_;  ///< bytes that existed before the first event
  uint64_t changes_ = 0;            ///< by how much all events so far changed the total
  int64_t olderBytes_ = 0;          ///< bytes of older allocations that were freed
};

}  // namespace

void MemoryLog::sort(int64_t originNs) {
  for (AddressEvent& event : events_) event.timeNs -= originNs;
  // Times come first, because recorders number events for each thread separately.
  std::stable_sort(events_.begin(), events_.end(), [](const AddressEvent& a, const AddressEvent& b) {
    return std::tie(a.timeNs, a.order) < std::tie(b.timeNs, b.order);
  });
  for (size_t i = 1; i < events_.size(); ++i)
    events_[i].timeNs = std::max(events_[i].timeNs, events_[i - 1].timeNs + 1);
}

void MemoryLog::finish(TraceImport& import, TrackId track, int64_t originNs) {
  sort(originNs);
  Replay replay(import, track);
  for (const AddressEvent& event : events_) replay.apply(event);
  replay.finish();
}

}  // namespace moeblaze
