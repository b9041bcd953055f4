#pragma once

#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

/// Throws DeviceError naming the Step. Apart from core/error.h, whose formatting nvcc does not compile.
[[noreturn]] void refuseStep(const BoundStep& step, const char* why);

}  // namespace moeblaze::cuda
