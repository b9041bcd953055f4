#include "kernels/cuda/base/refuse.h"

#include "core/base/error.h"

namespace moeblaze::cuda {

void refuseStep(const BoundStep& step, const char* why) { throw DeviceError("step " + step.step.name + ": " + why); }

}  // namespace moeblaze::cuda
