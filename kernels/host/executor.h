#pragma once

#include "kernels/layer/execution.h"

namespace moeblaze {

/// Runs `plan` on this machine's CPU. Every Step gets the buffers that it names and no other. Each buffer is allocated
/// and poisoned when its lifetime begins, has canaries behind it, and is poisoned again and freed when its lifetime
/// ends. Kernels compute in fp32, or in fp64 when the config's dtype is fp64. Throws InputError when the inputs' ids do
/// not follow the Plan's routing, PlanFailure, and Interrupted between Steps under an InterruptWatch.
Execution executeOnHost(const Plan& plan, const LayerInputs& inputs);

/// Throws DeviceError when this machine's memory plainly cannot hold a run of executeOnHost: the Plan's buffers at
/// their peak, its external buffers, and the inputs and results in fp64.
void checkHostMemory(const Plan& plan);

}  // namespace moeblaze
