#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "core/base/dtype.h"

namespace moeblaze::cuda {

/// Fills `count` elements of a floating dtype of at most 32 bits with normal numbers. Each number depends on `seed` and
/// its place alone.
void fillNormal(void* data, DType dtype, int64_t count, float mean, float deviation, uint64_t seed,
                cudaStream_t stream);

}  // namespace moeblaze::cuda
