#pragma once

#include <string>

#include "kernels/cuda/run/context.h"
#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

/// Why this backend cannot run the Plan, naming the Step; empty when it can.
std::string whyNot(const Plan& plan);

/// The Plan itself; throws InputError, saying why, when this backend cannot run it.
const Plan& runnable(const Plan& plan);

/// Launches one Step on the context's stream, without waiting for it unless the Plan says that the host does.
void runStep(const BoundStep& step, Context& context);

}  // namespace moeblaze::cuda
