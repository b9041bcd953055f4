#pragma once

#include <cuda_runtime_api.h>

namespace moeblaze::cuda {

/// Throws DeviceError naming the call and CUDA's reason unless `status` is success.
void check(cudaError_t status, const char* call, const char* file, int line);

/// Makes `device` current. Throws DeviceError, with what to do, when there is no usable GPU or no such device.
void useDevice(int device);

}  // namespace moeblaze::cuda

/// Checks a runtime call. After a kernel launch, cudaGetLastError() is the call to check.
#define MOEBLAZE_CUDA_CHECK(call) ::moeblaze::cuda::check((call), #call, __FILE__, __LINE__)
