#pragma once

#include <string>
#include <vector>

#include "core/plan.h"
#include "core/routing.h"
#include "core/trace.h"
#include "profiler/plan_comparison.h"

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
};

/// Compares `observed`, with the allocations of its track `memory`, and makes the trace of it that users see.
ProfiledRun finishRun(const Plan& plan, Trace observed, TrackId memory, const RunOptions& options);

/// Runs the Plan on a GPU under CUPTI, random numbers given. Throws InputError when the kernels cannot run the Plan,
/// DeviceError when there is no GPU, no CUPTI or too little memory.
ProfiledRun profileOnCuda(const Plan& plan, const Routing& routing, const RunOptions& options);

/// Runs the Plan on this machine's processor.
ProfiledRun profileOnHost(const Plan& plan, const Routing& routing, const RunOptions& options);

/// The GPU's name. Throws DeviceError.
std::string gpuName(int device);

}  // namespace moeblaze::profiler
