#pragma once

#include <cstdint>
#include <string>

namespace moeblaze {

/// What storing events costs. An event is one allocation or one free.
struct StoreFigures {
  int64_t events = 0;
  double writeSeconds = 0;       ///< to record all events and finish the file
  double eventsPerSecond = 0;    ///< while recording
  double bytesPerEvent = 0;      ///< in the finished file
  double summarySeconds = 0;     ///< to open the file and find the peak of every track
  double readSeconds = 0;        ///< to read all of it into a Trace
  double wholeWriteSeconds = 0;  ///< to write that Trace at once
};

/// Records `events` made-up events of a training job to `path` and measures what that costs. The job has 4096 names,
/// 1000 stacks, sizes that are mostly multiples of 512 bytes, and lifetimes from a few events to almost all.
StoreFigures benchStore(int64_t events, const std::string& path);

}  // namespace moeblaze
