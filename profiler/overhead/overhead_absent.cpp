// Takes the place of overhead.cpp in builds without the CUDA toolkit or its CUPTI.
#include "profiler/overhead/overhead.h"
#include "profiler/planned/profile_cuda.h"

namespace moeblaze::profiler {

WatchedTimes timeWatched(const Plan&, const Routing&, int device, Watched, int64_t) {
  gpuName(device);  // throws, because this build has no GPU support, and says what is missing
  return {};
}

}  // namespace moeblaze::profiler
