#pragma once

#include <cuda_runtime_api.h>

namespace moeblaze::profiler {

/// Enqueues a kernel that does nothing, to measure what a launch costs.
void launchEmpty(cudaStream_t stream);

}  // namespace moeblaze::profiler
