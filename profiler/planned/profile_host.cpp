#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "core/trace/copy_track.h"
#include "kernels/host/executor.h"
#include "profiler/planned/profiled_run.h"

namespace moeblaze::profiler {
namespace {

/// Appends the observed track of `execution` after what `trace` has.
void append(const Execution& execution, Trace& trace) {
  constexpr TrackId kFrom{1}, kTo{0};  // an execution's tracks: planned, observed
  const int64_t startNs = lastSpanEndNs(trace, kTo);
  copyTrack(execution.trace, kFrom, trace, kTo, startNs, startNs + lastSpanEndNs(execution.trace, kFrom));
}

}  // namespace

ProfiledRun finishRun(const Plan& plan, Trace observed, TrackId memory, const RunOptions& options) {
  ProfiledRun run{.trace = std::move(observed), .comparison = {}, .interrupted = InterruptWatch::acknowledge()};
  run.comparison = compareWithPlan(plan, run.trace, memory, options.warmUps, options.predictedNs);
  addPlannedTrack(plan, run.trace);
  const std::vector<Iteration> iterations = iterationsOf(plan, run.trace);
  // Memory of an iteration may be there before its first work.
  if (options.warmUps > 0 && std::ssize(iterations) > options.warmUps)
    startAt(run.trace, iterations[options.warmUps - 1].ends.back());
  return run;
}

ProfiledRun profileOnHost(const Plan& plan, const Routing& routing, const RunOptions& options) {
  const LayerInputs inputs = makeInputs(plan.config, routing, 1);
  Trace trace;
  trace.meta = {{"source", "moeblaze-prof run"},
                {"backend", "host"},
                {"config", plan.config.name},
                {"system", plan.system},
                {"routing", plan.routing}};
  trace.tracks.push_back({"host memory", TrackKind::observed});
  for (int64_t i = 0; i < options.warmUps + options.steps; ++i) {
    try {
      append(executeOnHost(plan, inputs), trace);
    } catch (const Interrupted&) {
      if (i == 0) throw;
      break;
    }
  }
  return finishRun(plan, std::move(trace), TrackId{0}, options);
}

}  // namespace moeblaze::profiler
