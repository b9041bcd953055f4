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
#include "profiler/recording/trace_sink.h"

namespace moeblaze::profiler {

struct RecorderOptions {
  /// False when kernels and copies are not recorded. A free of stream-ordered memory is then dated by its call.
  bool followsStreams = true;
  StreamPlacement placement = StreamPlacement::call;
  Labels labels;  ///< may be empty
};

/// Turns the events of a program into a trace. Events may be added in any order as long as each comes before the
/// settle() that passes its time; calls that allocate and free memory are sorted by time before they are applied. Not
/// safe for use by several threads at once. Throws what the sink throws.
class EventRecorder {
 public:
  /// `sink` and `clock` must outlive this.
  EventRecorder(TraceSink& sink, const RecordingClock& clock, RecorderOptions options,
                BoundedWriter::Limits limits = {});

  void add(Event event);
  /// Writes everything that happened before `untilNs` of the profiler's clock and flushes the sink. All events before
  /// `untilNs` must have been added.
  void settle(int64_t untilNs);
  /// Writes all that is left. The program ended at `endNs` of the profiler's clock. The caller finishes the sink.
  void finish(int64_t endNs);
  const LiveBytes& live() const { return ledger_.live(); }

 private:
  /// The events that must be applied in the order of their calls.
  using Ordered = std::variant<MemoryEvent, MappingEvent, PoolEvent, FreeCallEvent>;

  void record(const WorkEvent& event);
  void record(const OverheadEvent& event);
  void record(const DeviceEvent& event);
  std::optional<Label> labelOf(uint32_t correlation) const;
  StringId nameOf(const std::string& compiled);
  void settleWork();
  void settleMemory(int64_t untilNs);
  void writeLosses();

  BoundedWriter writer_;
  const RecordingClock& clock_;
  RecorderOptions options_;
  RecordedTracks tracks_;
  StreamOrder order_;
  MemoryLedger ledger_;
  RangeJoiner ranges_;
  std::vector<std::pair<int64_t, Ordered>> waiting_;  ///< with the time of each, ns since the recording began
  int64_t settledNs_ = INT64_MIN;                     ///< up to when waiting_ was applied, on the same clock
  std::vector<WorkEvent> work_;  ///< added since the last settle(); waits because its attribution may come after it
  std::unordered_map<uint32_t, uint64_t> externalIds_;  ///< by correlation
  std::unordered_map<std::string, StringId> names_;     ///< by mangled name
  std::map<std::string, int64_t> losses_, writtenLosses_;
};

}  // namespace moeblaze::profiler
