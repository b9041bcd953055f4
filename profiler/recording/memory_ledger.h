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

/// When memory of a stream's order exists.
enum class StreamPlacement : uint8_t {
  call,    ///< from the call that allocates; a free is requested by its call and done when its stream gets there
  stream,  ///< from when its stream gets there until its stream gets to the free: beside the kernels that use it
};

/// Device bytes alive, as calls were made.
struct LiveBytes {
  int64_t now = 0, peak = 0;
};

/// Turns allocations, frees and mappings, told in the order they were made, into a trace's allocations.
class MemoryLedger {
 public:
  MemoryLedger(BoundedWriter& writer, RecordedTracks& tracks, const RecordingClock& clock, StreamOrder* order,
               StreamPlacement placement)
      : writer_(writer), tracks_(tracks), clock_(clock), order_(order), placement_(placement) {}

  void add(const MemoryEvent& event, const std::optional<Label>& label);
  void add(const MappingEvent& event);
  void add(const PoolEvent& event);
  void add(const FreeCallEvent& event);
  /// Handles that were made and not yet mapped are written as they are, and frees that only their calls told of, which
  /// were made before `untilNs` of the recording's clock, are done.
  void settle(int64_t untilNs);
  const LiveBytes& live() const { return live_; }
  /// Frees of memory that is not known, such as of another process.
  int64_t unmatched() const { return unmatched_; }
  /// Allocations where something was: its free was not seen.
  int64_t replaced() const { return replaced_; }

 private:
  /// An allocation on its way into the file. Shared with calls that wait for their stream.
  struct Block {
    Allocation allocation;
    std::optional<AllocationId> written;
    bool lost = false;  ///< the file was full
    bool onDevice = true;
    int64_t calledNs = 0;  ///< when it was allocated, by its call
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
  LiveByAddress<std::shared_ptr<Block>> blocks_;  ///< one address space for the host and all GPUs
  std::map<uint64_t, Handle> handles_;
  std::map<uint64_t, uint64_t> mappings_;  ///< address → handle
  std::map<uint64_t, int64_t> freeCalls_;  ///< by address, of known blocks: when; until MemoryEvents tell of them too
  std::set<uint64_t> toldTwice_;           ///< addresses of mappings that were told of as allocations too
  std::map<std::pair<uint32_t, uint64_t>, std::pair<int64_t, int64_t>> poolPoints_;  ///< last time and bytes
  LiveBytes live_;
  int64_t unmatched_ = 0, replaced_ = 0;
};

}  // namespace moeblaze::profiler
