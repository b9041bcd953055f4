#include "profiler/planned/profile_host.h"

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "core/trace/copy_track.h"
#include "kernels/host/executor.h"

namespace moeblaze::profiler {
namespace {

/// Appends the observed track of `execution` to `trace`, after everything that is there.
void append(const Execution& execution, Trace& trace) {
  constexpr TrackId kFrom{1}, kTo{0};  // an execution's tracks: planned, observed
  const int64_t startNs = lastSpanEndNs(trace, kTo);
  copyTrack(execution.trace, kFrom, trace, kTo, startNs, startNs + lastSpanEndNs(execution.trace, kFrom));
}

}  // namespace

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
