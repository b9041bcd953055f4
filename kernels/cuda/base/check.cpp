#include "kernels/cuda/base/check.h"

#include <fmt/format.h>

#include <filesystem>

#include "core/base/error.h"

namespace moeblaze::cuda {

void check(cudaError_t status, const char* call, const char* file, int line) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, which would otherwise be blamed on the next call
  throw DeviceError(fmt::format("CUDA: {} ({}) in {} at {}:{}", cudaGetErrorString(status), cudaGetErrorName(status),
                                call, std::filesystem::path(file).filename().string(), line));
}

void useDevice(int device) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    cudaGetLastError();
    throw DeviceError(fmt::format("no NVIDIA GPU can be used: {}; install NVIDIA's driver, or run where there is one",
                                  status == cudaSuccess ? "none found" : cudaGetErrorString(status)));
  }
  if (device < 0 || device >= count)
    throw DeviceError(fmt::format("GPU {} does not exist; allowed 0 to {}", device, count - 1));
  MOEBLAZE_CUDA_CHECK(cudaSetDevice(device));
}

}  // namespace moeblaze::cuda
