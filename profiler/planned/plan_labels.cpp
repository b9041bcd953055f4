#include "profiler/planned/plan_labels.h"

namespace moeblaze::profiler {

std::optional<Label> PlanLabels::operator()(uint64_t externalId) const {
  if (externalId == kGiven) return Label{.name = "handed in", .role = Role::input, .given = true};
  const uint64_t buffer = externalId >> 32, step = externalId & 0xffffffff;
  if (buffer > 0 && buffer <= plan_->buffers.size()) {
    const Buffer& it = plan_->buffers[buffer - 1];
    return Label{.name = it.name,
                 .role = it.role,
                 .buffer = static_cast<BufferId>(buffer - 1),
                 .step = it.external ? StepId::none : static_cast<StepId>(it.lifetime.first),
                 .given = it.external};
  }
  if (step > 0 && step <= plan_->steps.size()) return Label{.step = static_cast<StepId>(step - 1)};
  return std::nullopt;
}

}  // namespace moeblaze::profiler
