#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "simulator/cost/machine.h"

namespace moeblaze {

/// Nanoseconds `step` of `plan` takes on `machine`: launches, plus the larger of what its arithmetic and its bytes
/// need. Each expert's tokens are padded to whole tiles here and nowhere else.
int64_t stepTime(const Plan& plan, const Step& step, const Machine& machine);

/// stepTime for every Step, in order.
std::vector<int64_t> stepTimes(const Plan& plan, const Machine& machine);

}  // namespace moeblaze
