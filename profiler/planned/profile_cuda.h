#pragma once

#include <string>

#include "core/routing/routing.h"
#include "profiler/planned/profiled_run.h"

// profile_cuda.cpp implements these functions. A build without CUPTI has profile_cuda_absent.cpp instead, in which they
// throw a DeviceError that says what is missing.
namespace moeblaze::profiler {

/// The name of GPU `device`. Throws DeviceError.
std::string gpuName(int device);

/// Runs the Plan with random inputs on a GPU and records it with CUPTI. A request to stop takes effect between two
/// iterations, after the first at the earliest. Throws InputError when the kernels cannot run the Plan, DeviceError
/// when there is no GPU, no CUPTI or too little memory.
ProfiledRun profileOnCuda(const Plan& plan, const Routing& routing, const RunOptions& options);

}  // namespace moeblaze::profiler
