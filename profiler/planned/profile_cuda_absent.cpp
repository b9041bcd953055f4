// Takes the place of profile_cuda.cpp in builds without the CUDA toolkit or its CUPTI.
#include "core/base/error.h"
#include "profiler/planned/profile_cuda.h"
#include "version.h"

namespace moeblaze::profiler {
namespace {

[[noreturn]] void refuseGpu() {
  throw DeviceError(std::string("this build cannot profile GPUs (CUDA toolkit: ") + kCudaFound +
                    "; CUPTI: " + kCuptiFound + "); --backend host works");
}

}  // namespace

std::string gpuName(int) { refuseGpu(); }

ProfiledRun profileOnCuda(const Plan&, const Routing&, const RunOptions&) { refuseGpu(); }

}  // namespace moeblaze::profiler
