#include "profiler/planned/profile_host.h"

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "kernels/host/executor.h"

namespace moeblaze::profiler {
namespace {

/// Appends the observed track of `execution` to `trace`, after everything that is there.
void append(const Execution& execution, Trace& trace) {
  constexpr TrackId kFrom{1}, kTo{0};  // an execution's tracks: planned, observed
  int64_t startNs = 0;
  for (const Span& span : trace.spans) startNs = std::max(startNs, span.startNs + span.durationNs);
  int64_t endNs = startNs;
  for (Span span : execution.trace.spans) {
    if (span.track != kFrom) continue;
    span.track = kTo;
    span.name = trace.strings.add(execution.trace.strings[span.name]);
    span.startNs += startNs;
    endNs = std::max(endNs, span.startNs + span.durationNs);
    trace.spans.push_back(span);
  }
  for (Allocation allocation : execution.trace.allocations) {
    if (allocation.track != kFrom) continue;
    allocation.track = kTo;
    allocation.name = trace.strings.add(execution.trace.strings[allocation.name]);
    allocation.allocNs += startNs;
    allocation.freeNs = allocation.freeNs == kNever ? endNs : allocation.freeNs + startNs;
    trace.allocations.push_back(allocation);
  }
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
