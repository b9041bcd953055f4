#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/trace/trace.h"
#include "traces/import/memory_log.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// Device id that stands for the host.
inline constexpr int32_t kHostDevice = -1;

/// Collects what an importer finds, with times in the file's own clock, and makes one Trace of it: times count from the
/// first event, tracks are found by name, and frees are matched to allocations. What is beyond the bounds on tracks,
/// devices and texts is counted as a loss.
class TraceBuilder {
 public:
  static constexpr size_t kMaxNameBytes = size_t{16} << 10;  ///< longer names are cut
  static constexpr size_t kMaxImportedTracks = 4096;
  static constexpr size_t kMaxImportedDevices = 4096;  ///< all ids of GPUs are below this too

  /// `source` names the file in errors.
  explicit TraceBuilder(std::string_view source) : import_(std::string(source)) {}

  /// The trace so far; the importer fills in its meta.
  Trace& trace() { return import_.trace(); }
  /// Adds `count` to the loss `what`.
  void lose(std::string_view what, int64_t count = 1) { import_.lose(what, count); }

  /// Whether `id` can be the number of a GPU.
  static bool isDevice(std::optional<int64_t> id) { return id && *id >= 0 && *id < int64_t{kMaxImportedDevices}; }
  /// Adds a device, or fills in what was not known of it yet.
  void device(int32_t id, std::string_view name, int64_t memoryBytes);
  /// Finds or adds the observed track `name`. Returns TrackId::none when there are too many tracks.
  TrackId track(const std::string& name, int32_t device);
  /// Adds `text` to the trace's strings, cut to kMaxNameBytes and made valid UTF-8.
  StringId text(std::string_view text);

  /// The caller must refuse times and durations beyond kMaxTimeNs (times in either direction) and bytes beyond
  /// kMaxAllocationBytes. Throws InputError when the file holds too many events.
  void span(TrackId track, std::string_view name, int64_t startNs, int64_t durationNs);
  void memory(TrackId track, const AddressEvent& event);
  void counterPoint(TrackId track, std::string_view name, std::string_view unit, int64_t timeNs, double value);

  /// Returns the trace; the builder is empty afterwards.
  Trace finish();

 private:
  /// Counts an event on `track` and returns whether it can be kept.
  bool countEvent(TrackId track, int64_t timeNs);

  TraceImport import_;
  std::map<std::string, TrackId, std::less<>> tracks_;
  std::map<TrackId, MemoryLog> memory_;
  std::map<std::pair<TrackId, StringId>, size_t> counters_;  ///< indices of counters
  int64_t firstNs_ = kNever;                                 ///< of all events
  size_t events_ = 0;
};

}  // namespace moeblaze
