#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/plan/plan.h"
#include "core/routing/routing.h"

// overhead.cpp implements timeWatched. A build without CUPTI has overhead_absent.cpp instead, in which it throws a
// DeviceError that says what is missing.

namespace moeblaze::profiler {

/// How a process is recorded while its launches and steps are timed.
enum class Watched : uint8_t {
  notAtAll,
  memoryOnly,  ///< as `record --memory-only` does
  fully,       ///< as `record` does; a step also with the attribution that `run` needs
};
/// As --only takes it: none, memory-only or full.
inline std::string_view name(Watched watched) {
  constexpr std::array<std::string_view, 3> kNames{"none", "memory-only", "full"};
  return kNames[static_cast<size_t>(watched)];
}

/// Median times, ns.
struct WatchedTimes {
  double launchNs = 0;  ///< of one launch of a kernel that does nothing
  double stepNs = 0;    ///< of one training step of the Plan
};

/// Times launches and `rounds` training steps in this process. A process in which CUPTI was ever active stays a little
/// slower, so each way of recording must be timed in a process of its own. Throws as profileOnCuda does.
WatchedTimes timeWatched(const Plan& plan, const Routing& routing, int device, Watched watched, int64_t rounds);

}  // namespace moeblaze::profiler
