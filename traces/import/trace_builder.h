#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "core/trace/trace.h"
#include "traces/import/memory_log.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// Collects what an importer finds, in the file's own clock, and makes one Trace of it: times from the first event,
/// tracks by name, frees matched to allocations. Tracks, devices and texts are bounded; beyond that, losses.
class TraceBuilder {
 public:
  static constexpr size_t kMaxText = size_t{16} << 10;  ///< longest name kept, bytes

  /// `source` names the file in errors.
  explicit TraceBuilder(std::string_view source) : import_(std::string(source)) {}

  /// Its meta are the importer's to fill.
  Trace& trace() { return import_.trace(); }
  /// Adds `count` to the loss `what`.
  void lose(std::string_view what, int64_t count = 1) { import_.lose(what, count); }

  /// Adds a device, or what was not known of it.
  void device(int32_t id, std::string_view name, int64_t memoryBytes);
  /// The observed track `name`; TrackId::none when there are too many.
  TrackId track(const std::string& name, int32_t device);
  /// `text` in the trace's strings, cut at kMaxText and made valid UTF-8.
  StringId text(std::string_view text);

  /// Times beyond kMaxTimeNs or below -kMaxTimeNs/2, durations beyond kMaxDurationNs and bytes beyond kMaxBytes are
  /// the caller's to refuse.
  void span(TrackId track, std::string_view name, int64_t startNs, int64_t durationNs);
  void memory(TrackId track, const MemoryEvent& event);
  void counterPoint(TrackId track, std::string_view name, std::string_view unit, int64_t timeNs, double value);

  /// The trace; the builder is empty afterwards.
  Trace finish();

 private:
  /// Whether an event there has room; throws InputError when the file holds too many.
  bool countEvent(TrackId track, int64_t timeNs);

  TraceImport import_;
  std::map<std::string, TrackId, std::less<>> tracks_;
  std::map<TrackId, MemoryLog> memory_;
  std::map<std::pair<TrackId, StringId>, size_t> counters_;  ///< index of the counter
  int64_t firstNs_ = kNever;
  size_t events_ = 0;
};

}  // namespace moeblaze
