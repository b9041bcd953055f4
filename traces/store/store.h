#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

/// Trace files (.mbtrace): one SQLite file of small tables and compressed columns. FORMAT.md has every detail.
namespace moeblaze {

namespace store {
class Recorder;
}

/// An allocation a TraceWriter was told of, in order from 0.
enum class AllocationId : int64_t {};
/// A counter of a TraceWriter.
enum class CounterId : int32_t {};

/// Records a trace into a file while it happens. What was flushed survives the end of the process, however it comes,
/// and others can read it meanwhile. Allocations and frees are separate events, so nothing once written changes and
/// what was alive at the end is what has no free. One thread at a time. Ids, times and sizes that a trace cannot hold
/// and everything the file system refuses throw InputError; after a failed write the file keeps what was committed and
/// the writer takes nothing more. A forked child may only destroy its copy, which does nothing.
class TraceWriter {
 public:
  /// Replaces whatever is at `path`.
  explicit TraceWriter(const std::string& path);
  /// Finishes as well as it can.
  ~TraceWriter();
  TraceWriter(TraceWriter&& other) noexcept;
  TraceWriter& operator=(TraceWriter&& other) = delete;

  void addMeta(std::string_view key, std::string_view value);
  void addDevice(const Device& device);
  TrackId addTrack(const Track& track);
  CounterId addCounter(TrackId track, StringId name, StringId unit);
  /// The same id for the same text or frames.
  StringId addString(std::string_view text);
  StackId addStack(const std::vector<Frame>& frames);

  /// All but freeNs and freeRequestedNs is taken.
  AllocationId addAllocation(const Allocation& allocation);
  /// The end of an allocation; freeNs is kNever when the memory was only let go of. At most once for each.
  void addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs = kNever);
  void addSpan(const Span& span);
  /// Times of one counter ascend; values are finite.
  void addPoint(CounterId counter, int64_t timeNs, double value);
  void addLoss(std::string_view what, int64_t count);

  /// Flushes when the last flush is 250 ms old. Every add does so too; a writer with nothing to add calls this.
  void flushIfDue();
  /// Makes everything so far readable and safe.
  void flush();
  /// Flushes and makes the file whole by itself. False while another program reads it: then its -wal file stays beside
  /// it until that program closes it, and belongs to it. Nothing may be added after.
  bool finish();

 private:
  std::unique_ptr<store::Recorder> recorder_;
};

/// Makes the file of a writer that was killed whole by itself: what its -wal file holds goes into it. False while
/// another program has it open. Throws InputError.
bool absorbLog(const std::string& path);

/// Writes a whole trace: to a temporary beside `path`, then renamed. Losses of the same text are added up.
void writeTrace(const Trace& trace, const std::string& path);

/// Reads a whole trace, of a recording still going on too: what it had flushed. Every id, size and checksum is checked.
/// `progress` hears of every chunk.
Trace readTrace(const std::string& path, const ReadProgress& progress = {});

/// What the index of a file tells of a track.
struct TrackSummary {
  Track track;
  int64_t allocations = 0, frees = 0, spans = 0;
  MemoryCurve::Point peak;  ///< as MemoryCurve::peak(); zero without allocations
  int64_t liveBytes = 0;    ///< not freed at the end
};

/// What a file holds, told without unpacking it.
struct TraceSummary {
  std::vector<TrackSummary> tracks;
  std::vector<Loss> losses;
  int64_t events = 0;  ///< allocations and frees
  int64_t spans = 0, points = 0;
  int64_t startNs = 0, endNs = 0;  ///< of everything with a time; both 0 when nothing has one
  bool finished = false;           ///< false: still being recorded, or its program was killed
};

/// Reads the index; columns only where chunks of a track overlap in time and could hold its peak.
TraceSummary summarize(const std::string& path);

}  // namespace moeblaze
