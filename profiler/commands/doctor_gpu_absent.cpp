// Takes the place of doctor_gpu.cpp in builds without the CUDA toolkit or its CUPTI.
#include "profiler/commands/doctor_gpu.h"
#include "version.h"

namespace moeblaze::profiler {

std::vector<Check> gpuChecks() {
  return {{"CUPTI", false,
           std::string("not part of this build (CUDA toolkit: ") + kCudaFound + "; CUPTI: " + kCuptiFound + ")",
           "install NVIDIA's cuda-toolkit, with cuda-cupti, and build again"}};
}

}  // namespace moeblaze::profiler
