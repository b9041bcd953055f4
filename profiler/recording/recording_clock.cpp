#include "profiler/recording/recording_clock.h"

#include <cstdlib>
#include <iterator>

namespace moeblaze::profiler {
namespace {

constexpr int64_t kMinStepNs = 1'000'000;

}  // namespace

RecordingClock::RecordingClock(int64_t profilerNs, int64_t steadyNs)
    : startNs_(steadyNs), offsets_{{profilerNs, steadyNs - profilerNs}} {}

void RecordingClock::sample(int64_t profilerNs, int64_t steadyNs) {
  const int64_t offset = steadyNs - profilerNs;
  const int64_t last = std::prev(offsets_.end())->second;
  // The clocks drift apart by less than the error of a sample. So a small difference is ignored, and only a step of the
  // wall clock changes the offset.
  if (std::abs(offset - last) < kMinStepNs) return;
  ++steps_;
  // After a step back the wall clock shows some times again; from now on, these mean the second occurrence.
  offsets_.erase(offsets_.lower_bound(profilerNs), offsets_.end());
  offsets_[profilerNs] = offset;
}

int64_t RecordingClock::at(int64_t profilerNs) const {
  auto after = offsets_.upper_bound(profilerNs);
  const int64_t offset = after == offsets_.begin() ? after->second : std::prev(after)->second;
  return profilerNs + offset - startNs_;
}

}  // namespace moeblaze::profiler
