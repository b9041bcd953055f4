#pragma once

#include <string>

#include "core/plan/plan.h"

namespace moeblaze::cuda {

/// Why this backend cannot run the Plan, naming the Step; empty when it can. Needs no GPU.
std::string whyNot(const Plan& plan);

/// The Plan itself; throws InputError, saying why, when this backend cannot run it.
const Plan& runnable(const Plan& plan);

}  // namespace moeblaze::cuda
