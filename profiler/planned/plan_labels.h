#pragma once

#include "core/plan/plan.h"
#include "profiler/recording/labels.h"

namespace moeblaze::profiler {

/// What a run of a Plan tells CUPTI its calls are for, as external ids, and what those say back.
class PlanLabels {
 public:
  /// `plan` must outlive this and copies of it.
  explicit PlanLabels(const Plan& plan) : plan_(&plan) {}

  static uint64_t idOf(StepId step) { return static_cast<uint64_t>(index(step)) + 1; }
  static uint64_t idOf(BufferId buffer) { return (static_cast<uint64_t>(index(buffer)) + 1) << 32; }
  /// Of copies that the run makes to hand to its Steps.
  static constexpr uint64_t kGiven = ~uint64_t{0};

  std::optional<Label> operator()(uint64_t externalId) const;

 private:
  const Plan* plan_;
};

}  // namespace moeblaze::profiler
