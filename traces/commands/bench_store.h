#pragma once

#include <cstdint>
#include <string>

namespace moeblaze {

/// What storing costs. An event is one allocation or one free.
struct StoreFigures {
  int64_t events = 0;
  double writeSeconds = 0;       ///< recording, finish included
  double eventsPerSecond = 0;    ///< recorded
  double bytesPerEvent = 0;      ///< of the finished file
  double summarySeconds = 0;     ///< opened, and every track's peak found
  double readSeconds = 0;        ///< all of it into a Trace
  double wholeWriteSeconds = 0;  ///< that Trace written at once
};

/// Records `events` made-up events of a training job to `path`: 4096 names, 1000 stacks, sizes in multiples of 512
/// bytes, lifetimes from a few events to all.
StoreFigures benchStore(int64_t events, const std::string& path);

}  // namespace moeblaze
