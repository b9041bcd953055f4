#pragma once

#include <vector>

#include "core/base/report.h"
#include "core/plan/plan.h"
#include "core/routing/routing.h"

namespace moeblaze {

/// One layer to measure on a GPU, under each of its Plans.
struct GpuBench {
  const std::vector<Plan>& plans;
  const Plan& bare;  ///< the Plan whose products, by the library for each expert, are the bare layer
  const Routing& routing;
  int device = 0;
  int64_t repeats = 1;
  bool forwardOnly = false;
  bool portable = false;  ///< runs the kernels of any GPU, even where there are better ones for this one
};

/// Medians of each Plan's forward and backward, one record for each Plan. They are taken in turn with two references: a
/// square library product and the bare layer. When interrupted it returns what was measured in full. Throws InputError
/// when a Plan does not run on CUDA, and DeviceError, also in builds without CUDA.
std::vector<Record> benchLayerOnGpu(const GpuBench& bench);

/// The same for each Step of the first Plan, beside the library's products of the same shapes; one record for each
/// Step.
std::vector<Record> benchProductsOnGpu(const GpuBench& bench);

}  // namespace moeblaze
