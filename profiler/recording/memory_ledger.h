#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/trace/live_by_address.h"
#include "profiler/cupti/events.h"
#include "profiler/recording/bounded_writer.h"
#include "profiler/recording/labels.h"
#include "profiler/recording/recorded_tracks.h"
#include "profiler/recording/recording_clock.h"
#include "profiler/recording/stream_order.h"

namespace moeblaze::profiler {

/// Which times bound a stream-ordered allocation in the trace.
enum class StreamPlacement : uint8_t {
  call,    ///< it begins at the allocating call; its free is requested by the freeing call and done when the stream
           ///< reaches that call
  stream,  ///< it begins and ends when the stream reaches the two calls, so that it lines up with the kernels using it
};

/// Bytes allocated on all devices, counted at the time of the calls.
struct LiveBytes {
  int64_t now = 0, peak = 0;
};

/// Turns allocations, frees and mappings into the allocations of a trace. They must be added in the order in which the
/// calls were made.
class MemoryLedger {
 public:
  /// `order` dates stream-ordered calls; null when kernels and copies are not recorded. All references must outlive
  /// this.
  MemoryLedger(BoundedWriter& writer, RecordedTracks& tracks, const RecordingClock& clock, StreamOrder* order,
               StreamPlacement placement)
      : writer_(writer), tracks_(tracks), clock_(clock), order_(order), placement_(placement) {}

  void add(const MemoryEvent& event, const std::optional<Label>& label);
  void add(const MappingEvent& event);
  void add(const PoolEvent& event);
  void add(const FreeCallEvent& event);
  /// Writes physical memory that is not mapped yet, and carries out the frees that only a FreeCallEvent reported and
  /// whose call returned before `untilNs`, ns since the recording began.
  void settle(int64_t untilNs);
  const LiveBytes& live() const { return live_; }
  /// Number of frees whose allocation was not seen.
  int64_t unmatched() const { return unmatched_; }
  /// Number of allocations at an address whose earlier allocation was still alive: the free between was not seen.
  int64_t replaced() const { return replaced_; }

 private:
  /// An allocation that is, or will be, in the trace. Calls that wait for their stream share it.
  struct Block {
    Allocation allocation;
    std::optional<AllocationId> written;
    bool lost = false;  ///< the trace was full
    bool onDevice = true;
    int64_t calledNs = 0;  ///< when the allocating call was made
    int64_t requestedNs = kNever;
  };
  struct Handle {
    Block block;
    int64_t references = 1, mappings = 0;
  };

  void allocate(const MemoryEvent& event, const std::optional<Label>& label);
  void release(const MemoryEvent& event);
  void write(Block& block);
  void free(const std::shared_ptr<Block>& block, int64_t freeNs);
  void count(int64_t bytes);
  void addPoolPoint(uint32_t device, uint64_t pool, int64_t bytes, int64_t timeNs);
  void releaseCalled(std::map<uint64_t, int64_t>::iterator call);
  void unmap(const MappingEvent& event, int64_t timeNs);
  void letGo(std::map<uint64_t, Handle>::iterator handle, int64_t timeNs);

  BoundedWriter& writer_;
  RecordedTracks& tracks_;
  const RecordingClock& clock_;
  StreamOrder* order_;
  StreamPlacement placement_;
  /// The blocks that are alive, by address: the host and all GPUs share one address space.
  LiveByAddress<std::shared_ptr<Block>> blocks_;
  std::map<uint64_t, Handle> handles_;
  std::map<uint64_t, uint64_t> mappings_;  ///< address → handle
  /// Address of a live block → when a call freed it. A MemoryEvent may still report that free.
  std::map<uint64_t, int64_t> freeCalls_;
  std::set<uint64_t> toldTwice_;  ///< addresses of mappings that were reported as allocations too
  /// (device, pool) → time and bytes of the last point of its counter.
  std::map<std::pair<uint32_t, uint64_t>, std::pair<int64_t, int64_t>> poolPoints_;
  LiveBytes live_;
  int64_t unmatched_ = 0, replaced_ = 0;
};

}  // namespace moeblaze::profiler
