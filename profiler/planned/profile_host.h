#pragma once

#include "core/routing/routing.h"
#include "profiler/planned/profiled_run.h"

namespace moeblaze::profiler {

/// Runs the Plan on this machine's CPU with random inputs. A request to stop takes effect between two Steps; throws
/// Interrupted when no iteration was complete by then.
ProfiledRun profileOnHost(const Plan& plan, const Routing& routing, const RunOptions& options);

}  // namespace moeblaze::profiler
