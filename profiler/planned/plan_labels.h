#pragma once

#include "core/plan/plan.h"
#include "profiler/recording/labels.h"

namespace moeblaze::profiler {

/// The external ids under which a run of a Plan makes its calls, and the Label that each of them stands for.
class PlanLabels {
 public:
  /// `plan` must outlive this and all copies of it.
  explicit PlanLabels(const Plan& plan) : plan_(&plan) {}

  static uint64_t idOf(StepId step) { return static_cast<uint64_t>(index(step)) + 1; }
  static uint64_t idOf(BufferId buffer) { return (static_cast<uint64_t>(index(buffer)) + 1) << 32; }
  /// The id of calls that make the copies handed to the Plan's Steps as inputs.
  static constexpr uint64_t kGiven = ~uint64_t{0};

  /// Returns nothing for an id that stands for none of this Plan's buffers and Steps.
  std::optional<Label> operator()(uint64_t externalId) const;

 private:
  const Plan* plan_;
};

}  // namespace moeblaze::profiler
