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

/// Reads an .mbtrace while it is being recorded. Each poll unpacks only what was added. Between polls the file is
/// closed, so that the recording program can finish it.
class TraceFollower {
 public:
  explicit TraceFollower(std::string path);
  ~TraceFollower();
  TraceFollower(TraceFollower&&) noexcept;
  TraceFollower& operator=(TraceFollower&&) noexcept;

  /// Reads what is new and returns whether there was anything. A file that was replaced is read from its start. Throws
  /// InputError as readTrace does.
  bool poll(const ReadProgress& progress = {});
  /// Everything read so far. The reference stays valid and unchanged until the next poll.
  const Trace& trace() const;
  /// Whether the recording was finished. It never is when its program was killed.
  bool finished() const;

 private:
  /// Sizes and modification times of the file and of its log, one of which changes with every commit.
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
