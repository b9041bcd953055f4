#include "profiler/commands/doctor_gpu.h"

#include <cuda_runtime.h>
#include <fmt/format.h>

#include "core/base/error.h"
#include "kernels/cuda/base/check.h"
#include "profiler/cupti/collector.h"

namespace moeblaze::profiler {
namespace {

std::string gpus() {
  cuda::useDevice(0);
  int count = 0;
  MOEBLAZE_CUDA_CHECK(cudaGetDeviceCount(&count));
  std::string text;
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp properties{};
    MOEBLAZE_CUDA_CHECK(cudaGetDeviceProperties(&properties, i));
    text += fmt::format("{}{} ({}, compute capability {}.{})", i == 0 ? "" : ", ", properties.name,
                        bytesText(static_cast<int64_t>(properties.totalGlobalMem)), properties.major, properties.minor);
  }
  return text;
}

/// Allocates, sets and frees one MiB. Throws DeviceError unless CUPTI reports all three.
std::string tryOut(const Cupti& cupti) {
  constexpr int64_t kBytes = 1 << 20;
  cuda::useDevice(0);
  Collector collector(cupti, {});
  void* block = nullptr;
  MOEBLAZE_CUDA_CHECK(cudaMalloc(&block, kBytes));
  MOEBLAZE_CUDA_CHECK(cudaMemset(block, 0, kBytes));
  MOEBLAZE_CUDA_CHECK(cudaFree(block));
  MOEBLAZE_CUDA_CHECK(cudaDeviceSynchronize());
  int taken = 0, freed = 0, sets = 0;
  collector.drain(true, [&](const Event& event) {
    if (const auto* memory = std::get_if<MemoryEvent>(&event); memory != nullptr && memory->bytes == kBytes)
      ++(memory->isFree ? freed : taken);
    if (const auto* work = std::get_if<WorkEvent>(&event)) sets += work->kind == WorkKind::set;
  });
  if (taken != 1 || freed != 1 || sets < 1)
    throw DeviceError(fmt::format("of one allocation, set and free CUPTI told {}, {} and {}", taken, sets, freed));
  return "an allocation, a set and a free came back";
}

Check attempt(const std::string& what, const std::string& remedy, const std::function<std::string()>& find) {
  try {
    return {what, true, find(), ""};
  } catch (const std::exception& error) {
    return {what, false, error.what(), remedy};
  }
}

}  // namespace

std::vector<Check> gpuChecks() {
  std::vector<Check> checks{attempt("GPUs", "nvidia-smi should list one; in a container give it --gpus all", gpus)};
  Cupti cupti{};
  checks.push_back(attempt("CUPTI", "install NVIDIA's cuda-cupti package of CUDA 13", [&] {
    cupti = loadCupti();
    return fmt::format("version {} at {}", cupti.version, cupti.path);
  }));
  if (checks[0].works && checks[1].works)
    checks.push_back(attempt("recording", "end other profilers of this process; give a container --cap-add SYS_ADMIN",
                             [&] { return tryOut(cupti); }));
  return checks;
}

}  // namespace moeblaze::profiler
