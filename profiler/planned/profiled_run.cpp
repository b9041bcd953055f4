#include "profiler/planned/profiled_run.h"

#include "core/base/interrupt.h"

namespace moeblaze::profiler {

ProfiledRun finishRun(const Plan& plan, Trace observed, TrackId memory, const RunOptions& options) {
  ProfiledRun run{.trace = std::move(observed), .comparison = {}, .interrupted = InterruptWatch::acknowledge()};
  run.comparison = compareWithPlan(plan, run.trace, memory, options.warmUps, options.predictedNs);
  addPlannedTrack(plan, run.trace);
  const std::vector<Iteration> iterations = iterationsOf(plan, run.trace);
  // The trace starts where the last warm-up ends, not where the next iteration's first work begins, because an
  // iteration may allocate memory before its first work.
  if (options.warmUps > 0 && std::ssize(iterations) > options.warmUps)
    startAt(run.trace, iterations[options.warmUps - 1].ends.back());
  return run;
}

}  // namespace moeblaze::profiler
