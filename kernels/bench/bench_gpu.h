#pragma once

#include <vector>

#include "core/base/report.h"
#include "core/plan/plan.h"
#include "core/routing/routing.h"

namespace moeblaze {

/// One layer to measure on a GPU, under each of its Plans.
struct GpuBench {
  const std::vector<Plan>& plans;
  const Plan& bare;  ///< whose products, each expert's by the library, are the bare layer
  const Routing& routing;
  int device = 0;
  int64_t repeats = 1;
  bool forwardOnly = false;
  bool portable = false;  ///< kernels of any GPU, where there are some for this one
};

/// Medians of each Plan's forward and backward, taken in turn with two references, a square library product and the
/// bare layer; a record a Plan. Interrupted, it returns what was measured in full. Throws InputError when a Plan does
/// not run there, DeviceError, also in builds without CUDA.
std::vector<Record> benchLayerOnGpu(const GpuBench& bench);

/// The same for each product of the first Plan beside the library's of the same shape; a record a Step.
std::vector<Record> benchProductsOnGpu(const GpuBench& bench);

}  // namespace moeblaze
