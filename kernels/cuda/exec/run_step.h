#pragma once

#include "kernels/cuda/run/plan_run.h"
#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

/// Launches one Step of the run on its context's stream, inside an NVTX range of the Step's name. Waits for the Step
/// only where the Plan says that the host stalls. Throws DeviceError when a launch fails or an operand is missing.
void runStep(const BoundStep& step, PlanRun& run);

}  // namespace moeblaze::cuda
