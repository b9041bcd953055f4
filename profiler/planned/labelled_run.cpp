#include "profiler/planned/labelled_run.h"

#include <nvtx3/nvToolsExt.h>

#include "profiler/planned/plan_labels.h"

namespace moeblaze::profiler {

RecordingOptions recordingOf(const Plan& plan) {
  RecordingOptions options;
  options.collector = {.work = true, .attribution = true, .allocationSources = true};
  options.recorder = {.placement = StreamPlacement::stream, .labels = PlanLabels(plan)};
  return options;
}

LabelledRun::LabelledRun(const Plan& plan, const Routing& routing, cuda::Context& context, Collector* collector)
    : collector_(collector), runner_(plan, context, memoryOptions()) {
  runner_.observer = [this](int32_t step, bool begins) { label(PlanLabels::idOf(static_cast<StepId>(step)), begins); };
  label(PlanLabels::kGiven, true);
  runner_.giveRandom(routing, 1);
  label(PlanLabels::kGiven, false);
}

void LabelledRun::step(const std::string& name) {
  nvtxRangePushA(name.c_str());
  runner_.forward();
  runner_.backward();
  runner_.discard();
  nvtxRangePop();
}

cuda::MemoryOptions LabelledRun::memoryOptions() {
  return {.onAllocate = [this](BufferId id, bool begins) { label(PlanLabels::idOf(id), begins); }};
}

void LabelledRun::label(uint64_t id, bool begins) {
  if (collector_ != nullptr) begins ? collector_->push(id) : collector_->pop();
}

}  // namespace moeblaze::profiler
