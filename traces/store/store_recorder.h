#pragma once

#include <unistd.h>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/store/live_allocations.h"
#include "traces/store/store.h"
#include "traces/store/store_file.h"

namespace moeblaze::store {

/// Buffers rows until they fill a chunk or grow old.
class Recorder {
 public:
  Recorder(const std::string& path, const std::string& shownPath, Mode mode)
      : file_(path, shownPath, mode), mode_(mode), path_(shownPath) {
    insertNewText({});
    insertNewStack({});
  }

  /// This, if it can take more.
  Recorder& usable() {
    file_.expectUsable();
    return *this;
  }
  void addMeta(std::string_view key, std::string_view value);
  void addDevice(const Device& device);
  TrackId addTrack(const Track& track);
  CounterId addCounter(TrackId track, StringId name, StringId unit);
  StringId addString(std::string_view text);
  StackId addStack(const std::vector<Frame>& frames);
  /// The id of the next allocation, when ids simply count up.
  int64_t nextAllocation() const { return allocations_; }
  void addAllocation(int64_t id, const Allocation& allocation);
  /// Ignores the row's bytes: they are known.
  void addFree(const FreeRow& given);
  void addSpan(const Span& span);
  void addPoint(CounterId counter, const PointRow& point);
  void addLoss(std::string_view what, int64_t count);
  void flushIfDue();
  void flush();
  bool finish();
  /// False in a forked child.
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

  /// Refuses texts that are too long.
  void checkText(std::string_view text) const;
  void insertNewText(std::string_view text);
  void insertNewStack(std::span<const Frame> frames);
  /// Writes out when the buffers of `track` are full or all are due.
  void afterAdd(bool isFull, size_t track);
  void writeTrack(size_t track);
  void writeMemory(size_t track);
  void writeSpans(size_t track);
  void writePoints(size_t counter);
  Counts counts() const { return {tracks_.size(), strings_.size(), stacks_.size()}; }

  StoreFile file_;
  Mode mode_;
  std::string path_;
  pid_t process_ = getpid();
  Strings strings_;
  Stacks stacks_;
  std::unordered_map<std::string, uint32_t> frameIds_;
  std::vector<TrackRows> tracks_;
  std::vector<CounterRows> counters_;
  std::vector<Loss> losses_;
  size_t devices_ = 0;
  int64_t allocations_ = 0, spans_ = 0, points_ = 0;
  LiveAllocations live_;
  std::vector<Delta> deltas_;
  std::string columns_;
  Clock::time_point flushed_ = Clock::now();
  uint32_t adds_ = 0;
};

}  // namespace moeblaze::store
