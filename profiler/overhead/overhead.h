#pragma once

#include <cstdint>
#include <string_view>

#include "core/plan/plan.h"
#include "core/routing/routing.h"

namespace moeblaze::profiler {

/// How a process is recorded while its launches and steps are timed.
enum class Watched : uint8_t {
  notAtAll,
  memoryOnly,  ///< as `record --memory-only` does
  fully,       ///< as `record` and `run` do
};
std::string_view name(Watched watched);

/// Medians, ns.
struct WatchedTimes {
  double launchNs = 0;  ///< of a kernel that does nothing
  double stepNs = 0;    ///< a training step of the Plan
};

/// Times this process. Once CUPTI was in a process it stays a little slower, so each way needs one of its own. Throws
/// as profileOnCuda does.
WatchedTimes timeWatched(const Plan& plan, const Routing& routing, int device, Watched watched, int64_t rounds);

}  // namespace moeblaze::profiler
