#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "simulator/cost/machine.h"

namespace moeblaze {

/// Predicted time of a Step of `plan` on `machine` in ns: its launches and host stalls, and the longer of what its
/// arithmetic and its traffic take. Here each expert's tokens are padded to whole tiles; the Plan knows no tiles.
int64_t stepTime(const Plan& plan, const Step& step, const Machine& machine);

/// stepTime() of every Step, in order.
std::vector<int64_t> stepTimes(const Plan& plan, const Machine& machine);

}  // namespace moeblaze
