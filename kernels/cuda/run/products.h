#pragma once

#include "kernels/cuda/run/plan_run.h"
#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

// The matrix products of three rooms, among which the product Ops choose.

/// A router's product, with operands of mixed dtypes: rows/router_products.cu.
void routerProduct(const BoundStep& step, PlanRun& run);

/// Products by cuBLAS, one call for each expert: library/library_products.cpp. The run's sort must have read the
/// experts' bounds back.
void libraryProduct(const BoundStep& step, PlanRun& run);
void libraryWeightGradient(const BoundStep& step, PlanRun& run);

/// Tensor-core kernels that read rows through the index structures: products/fused_*.cu.
void fusedProduct(const BoundStep& step, PlanRun& run);
void fusedWeightGradient(const BoundStep& step, PlanRun& run);

/// True for a product of the router: all operands of other products have the model's dtype.
bool isRouterProduct(const BoundStep& step);

/// True when the project's own kernels run the product, which read the experts' bounds on the device and may read rows
/// that are tokens. Otherwise cuBLAS does.
bool runsFused(const BoundStep& step);

/// Why the backend cannot run a product, as CudaOp::whyNot says it.
const char* whyNotProduct(const BoundStep& step, bool boundsOnHost);

}  // namespace moeblaze::cuda
