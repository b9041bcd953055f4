#pragma once

#include <unistd.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "traces/store/file/store_file.h"
#include "traces/store/live_allocations.h"
#include "traces/store/row_ids.h"
#include "traces/store/trace_tables.h"

namespace moeblaze::store {

/// Buffers rows until they fill a chunk or are old enough to be written. Throws InputError for rows that a trace cannot
/// hold.
class Recorder {
 public:
  /// Writes to `path`; errors call the file `shownPath`.
  Recorder(const std::string& path, const std::string& shownPath, Mode mode)
      : file_(path, shownPath, mode), mode_(mode), path_(shownPath), tables_(file_, path_) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  /// Returns this recorder, or throws InputError when it can take nothing more.
  Recorder& usable() {
    file_.expectUsable();
    return *this;
  }
  TraceTables& tables() { return tables_; }

  /// The id of the next allocation, for callers whose ids count up.
  int64_t nextAllocation() const { return allocations_; }
  void addAllocation(int64_t id, const Allocation& allocation);
  /// The bytes of `given` are ignored; those of its allocation are known.
  void addFree(const FreeRow& given);
  void addSpan(const Span& span);
  void addPoint(CounterId counter, const PointRow& point);

  void flushIfDue();
  void flush();
  bool finish();
  /// Whether this process made the recorder; false in a forked child.
  bool isOwn() const { return process_ == getpid(); }

 private:
  struct TrackRows {
    MemoryRows memory;
    std::vector<SpanRow> spans;
    int64_t totalBytes = 0;
  };
  struct CounterRows {
    std::vector<PointRow> points;
    std::optional<PointRow> last;
  };
  using Clock = std::chrono::steady_clock;

  /// The rows of a track that exists in the tables.
  TrackRows& rowsOf(TrackId track);
  /// Writes out when the buffers of `track` are full or all buffers are due.
  void afterAdd(bool isFull, size_t track);
  void writeTrack(size_t track);
  void writeMemory(size_t track);
  void writeSpans(size_t track);
  void writePoints(size_t counter);

  StoreFile file_;
  Mode mode_;
  std::string path_;
  TraceTables tables_;
  pid_t process_ = getpid();
  std::vector<TrackRows> tracks_;      ///< by track; tracks without rows may be missing at the end
  std::vector<CounterRows> counters_;  ///< by counter; counters without points may be missing at the end
  int64_t allocations_ = 0, spans_ = 0, points_ = 0;
  LiveAllocations live_;
  std::vector<Delta> deltas_;
  std::string columns_;
  Clock::time_point flushed_ = Clock::now();
  uint32_t adds_ = 0;
};

}  // namespace moeblaze::store
