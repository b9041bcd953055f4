#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

namespace store {
class TraceLoader;
}

/// Reads an .mbtrace while it is being recorded. Each poll unpacks only what was added; between polls the file is
/// closed, so the recording program can finish it.
class TraceFollower {
 public:
  explicit TraceFollower(std::string path);
  ~TraceFollower();
  TraceFollower(TraceFollower&&) noexcept;
  TraceFollower& operator=(TraceFollower&&) noexcept;

  /// Whether there was anything new. A file that was replaced is read from its start. Throws InputError as readTrace.
  bool poll(const ReadProgress& progress = {});
  /// Everything read so far; stays until the next poll.
  const Trace& trace() const;
  /// Whether the recording came to its end; a program that was killed never gets there.
  bool finished() const;

 private:
  /// Sizes and times of the file and of its log: they change with every commit.
  struct State {
    int64_t fileBytes = -1, fileTime = 0, logBytes = -1, logTime = 0;
    bool operator==(const State&) const = default;
  };
  State stateOf() const;

  std::string path_;
  std::unique_ptr<store::TraceLoader> loader_;
  State seen_;
  bool hasTrace_ = false;
};

}  // namespace moeblaze
