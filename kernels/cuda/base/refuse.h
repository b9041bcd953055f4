#pragma once

#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

/// Throws DeviceError naming the Step. This lives apart from core/base/error.h because nvcc does not compile the
/// formatting in that header.
[[noreturn]] void refuseStep(const BoundStep& step, const char* why);

}  // namespace moeblaze::cuda
