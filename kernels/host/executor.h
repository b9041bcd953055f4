#pragma once

#include "kernels/layer/execution.h"

namespace moeblaze {

/// Runs `plan` on this machine's CPU, every Step with the buffers it names and no other: each is allocated and poisoned
/// when its lifetime begins, has canaries behind it, and is poisoned again and freed when its lifetime ends. Computes
/// in fp32, or in fp64 when the config's dtype is fp64. Throws PlanFailure, and Interrupted between Steps
/// under an InterruptWatch.
Execution executeOnHost(const Plan& plan, const LayerInputs& inputs);

/// Throws DeviceError when this machine plainly cannot hold a run of executeOnHost: the Plan's buffers, what is given
/// beside them, and both in fp64 as the executor takes and returns them.
void checkHostMemory(const Plan& plan);

}  // namespace moeblaze
