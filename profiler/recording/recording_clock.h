#pragma once

#include <cstdint>
#include <map>

namespace moeblaze::profiler {

/// Turns the profiler's times, which follow the wall clock, into ns since the recording began on a clock that never
/// steps.
class RecordingClock {
 public:
  /// The first sample is where the recording begins: both clocks read at one instant, ns.
  RecordingClock(int64_t profilerNs, int64_t steadyNs);

  /// Both clocks again, about once a second.
  void sample(int64_t profilerNs, int64_t steadyNs);
  /// ns since the recording began; what came before it is negative.
  int64_t at(int64_t profilerNs) const;
  /// Times the wall clock moved by more than a millisecond against the steady one.
  int64_t steps() const { return steps_; }

 private:
  int64_t startNs_;                     ///< steady clock
  std::map<int64_t, int64_t> offsets_;  ///< profiler's time from which on → steady less profiler's
  int64_t steps_ = 0;
};

}  // namespace moeblaze::profiler
