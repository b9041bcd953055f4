#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "profiler/cupti/events.h"
#include "profiler/recording/bounded_writer.h"
#include "profiler/recording/labels.h"
#include "profiler/recording/memory_ledger.h"
#include "profiler/recording/range_joiner.h"
#include "profiler/recording/recorded_tracks.h"
#include "profiler/recording/recording_clock.h"
#include "profiler/recording/stream_order.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {

struct RecorderOptions {
  /// False when kernels and copies are not recorded: then frees of stream-ordered memory are done when requested.
  bool followsStreams = true;
  StreamPlacement placement = StreamPlacement::call;
  Labels labels;  ///< may be empty
};

/// Writes what happened in a program into a trace. Events may be told in any order within a while; calls that take and
/// give back memory are put in the order they were made before they count. One thread at a time; throws what the
/// writer throws.
class EventRecorder {
 public:
  EventRecorder(TraceWriter& writer, const RecordingClock& clock, RecorderOptions options,
                BoundedWriter::Limits limits = {});

  void add(Event event);
  /// Writes everything that happened before `untilNs`, of which all has been told, and makes it safe.
  void settle(int64_t untilNs);
  /// Writes all that is left; `endNs` is the end of the program. The writer is the caller's to finish.
  void finish(int64_t endNs);
  const LiveBytes& live() const { return ledger_.live(); }

 private:
  using Ordered =
      std::variant<MemoryEvent, MappingEvent, PoolEvent, FreeCallEvent>;  ///< what needs the order of the calls

  void record(const WorkEvent& event);
  void record(const OverheadEvent& event);
  void record(const DeviceEvent& event);
  std::optional<Label> labelOf(uint32_t correlation) const;
  StringId nameOf(const std::string& compiled);
  void settleMemory(int64_t untilNs);
  void writeLosses();

  BoundedWriter writer_;
  const RecordingClock& clock_;
  RecorderOptions options_;
  RecordedTracks tracks_;
  StreamOrder order_;
  MemoryLedger ledger_;
  RangeJoiner ranges_;
  std::vector<std::pair<int64_t, Ordered>> waiting_;
  int64_t settledNs_ = INT64_MIN;
  std::vector<WorkEvent> work_;                         ///< told since the last settling: labels of a batch come first
  std::unordered_map<uint32_t, uint64_t> externalIds_;  ///< by correlation
  std::unordered_map<std::string, StringId> names_;     ///< by compiled name
  std::map<std::string, int64_t> losses_, writtenLosses_;
};

}  // namespace moeblaze::profiler
