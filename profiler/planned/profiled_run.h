#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "profiler/planned/plan_comparison.h"

namespace moeblaze::profiler {

/// How a Plan is run.
struct RunOptions {
  int device = 0;
  bool portable = false;             ///< use only kernels that every GPU can run
  int64_t warmUps = 3;               ///< iterations that are compared but do not count for the times
  int64_t steps = 3;                 ///< iterations after them
  std::vector<int64_t> predictedNs;  ///< by Step; empty without a prediction
};

/// A Plan that was run and observed.
struct ProfiledRun {
  Trace trace;  ///< with a planned track and observed tracks, from the first iteration that counts
  PlanComparison comparison;
  bool interrupted = false;  ///< then there are fewer iterations than asked for
};

/// Compares the allocations on the track `memory` of `observed` with the Plan, and turns `observed` into the trace that
/// users see. Acknowledges a request to stop that came during the run.
ProfiledRun finishRun(const Plan& plan, Trace observed, TrackId memory, const RunOptions& options);

}  // namespace moeblaze::profiler
