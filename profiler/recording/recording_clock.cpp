#include "profiler/recording/recording_clock.h"

#include <cstdlib>
#include <iterator>

namespace moeblaze::profiler {
namespace {

constexpr int64_t kStepNs = 1'000'000;

}  // namespace

RecordingClock::RecordingClock(int64_t profilerNs, int64_t steadyNs)
    : startNs_(steadyNs), offsets_{{profilerNs, steadyNs - profilerNs}} {}

void RecordingClock::sample(int64_t profilerNs, int64_t steadyNs) {
  const int64_t offset = steadyNs - profilerNs;
  const int64_t last = std::prev(offsets_.end())->second;
  // Slow drift between the clocks is below what the samples themselves are off by; only steps are taken over.
  if (std::abs(offset - last) < kStepNs) return;
  ++steps_;
  // A step back repeats times: those from here on are the new ones.
  offsets_.erase(offsets_.lower_bound(profilerNs), offsets_.end());
  offsets_[profilerNs] = offset;
}

int64_t RecordingClock::at(int64_t profilerNs) const {
  auto after = offsets_.upper_bound(profilerNs);
  const int64_t offset = after == offsets_.begin() ? after->second : std::prev(after)->second;
  return profilerNs + offset - startNs_;
}

}  // namespace moeblaze::profiler
