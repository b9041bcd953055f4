#pragma once

#include <cstdint>
#include <map>

namespace moeblaze::profiler {

/// Converts times of the profiler's clock, which follows the wall clock, into ns since the recording began on the
/// steady clock, which is never set.
class RecordingClock {
 public:
  /// The recording begins at the instant at which the two clocks showed these times, ns.
  RecordingClock(int64_t profilerNs, int64_t steadyNs);

  /// Takes another reading of both clocks at one instant; to be called about once a second.
  void sample(int64_t profilerNs, int64_t steadyNs);
  /// ns since the recording began; negative for an earlier time.
  int64_t at(int64_t profilerNs) const;
  /// How often the wall clock was set by a millisecond or more.
  int64_t steps() const { return steps_; }

 private:
  int64_t startNs_;  ///< of the steady clock
  /// Profiler's time → what to add from then on to get the steady clock's time.
  std::map<int64_t, int64_t> offsets_;
  int64_t steps_ = 0;
};

}  // namespace moeblaze::profiler
