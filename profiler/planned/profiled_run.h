#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/trace/trace.h"
#include "profiler/planned/plan_comparison.h"

namespace moeblaze::profiler {

struct RunOptions {
  int device = 0;
  bool portable = false;  ///< kernels that any GPU runs
  int64_t warmUps = 3;
  int64_t steps = 3;
  std::vector<int64_t> predictedNs;  ///< by Step; empty without a prediction
};

/// A Plan that was run and watched.
struct ProfiledRun {
  Trace trace;  ///< a planned and observed tracks, from the first iteration that counts
  PlanComparison comparison;
  bool interrupted = false;  ///< then there are fewer iterations than asked
};

/// Compares `observed`, with the allocations of its track `memory`, and makes the trace of it that users see.
ProfiledRun finishRun(const Plan& plan, Trace observed, TrackId memory, const RunOptions& options);

/// Runs the Plan on a GPU under CUPTI, random numbers given. Stops between iterations when asked to, not before one is
/// done. Throws InputError when the kernels cannot run the Plan,
/// DeviceError when there is no GPU, no CUPTI or too little memory.
ProfiledRun profileOnCuda(const Plan& plan, const Routing& routing, const RunOptions& options);

/// Runs the Plan on this machine's processor. Stops between Steps when asked to; throws Interrupted when no iteration
/// was done by then.
ProfiledRun profileOnHost(const Plan& plan, const Routing& routing, const RunOptions& options);

/// The GPU's name. Throws DeviceError.
std::string gpuName(int device);

}  // namespace moeblaze::profiler
