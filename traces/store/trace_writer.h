#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "traces/store/row_ids.h"

namespace moeblaze {

namespace store {
class Recorder;
}

/// Records a trace into a file while it happens. What was flushed survives the end of the process, even a kill, and
/// other programs can read it meanwhile. Allocations and frees are separate events, so nothing changes once it is
/// written, and what was alive at the end is what has no free.
///
/// One thread at a time. Throws InputError for ids, times and sizes that a trace cannot hold (trace_limits.h), and for
/// everything that the file system refuses. After a failed write the file keeps what was committed, and the writer
/// takes nothing more. A forked child may only destroy its copy, which leaves the file alone.
class TraceWriter {
 public:
  /// Replaces whatever is at `path`.
  explicit TraceWriter(const std::string& path);
  /// Finishes the file if it can.
  ~TraceWriter();
  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) = delete;

  void addMeta(std::string_view key, std::string_view value);
  void addDevice(const Device& device);
  TrackId addTrack(const Track& track);
  CounterId addCounter(TrackId track, StringId name, StringId unit);
  /// Returns the same id for the same text or the same frames.
  StringId addString(std::string_view text);
  StackId addStack(const std::vector<Frame>& frames);

  /// Adds the beginning of an allocation; its freeNs and freeRequestedNs are ignored.
  AllocationId addAllocation(const Allocation& allocation);
  /// Adds the end of an allocation, at most once for each. freeNs is kNever when the program let go of the memory, but
  /// it is not known when the memory could be used again.
  void addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs = kNever);
  void addSpan(const Span& span);
  /// Times of one counter must ascend, and values must be finite.
  void addPoint(CounterId counter, int64_t timeNs, double value);
  void addLoss(std::string_view what, int64_t count);

  /// Flushes when the last flush is 250 ms old. Every add does this too, so only a writer that has nothing to add needs
  /// to call it.
  void flushIfDue();
  /// Makes everything so far readable and safe.
  void flush();
  /// Flushes and moves everything into the one file. Returns false while another program reads the file: then the -wal
  /// file beside it belongs to it and stays until that program closes it. Nothing may be added afterwards.
  bool finish();

 private:
  std::unique_ptr<store::Recorder> recorder_;
};

/// Repairs the file of a writer that was killed: moves what its -wal file holds into the file itself. Returns false
/// while another program has it open. Throws InputError.
bool absorbLog(const std::string& path);

}  // namespace moeblaze
