// The product Ops that several kernels serve: the router's, the project's own tensor-core kernels, or cuBLAS.
#include "kernels/cuda/run/ops.h"
#include "kernels/cuda/run/products.h"

namespace moeblaze::cuda {
namespace {

void launchProduct(const BoundStep& step, PlanRun& run) {
  if (isRouterProduct(step)) return routerProduct(step, run);
  return runsFused(step) ? fusedProduct(step, run) : libraryProduct(step, run);
}

void launchWeightGradient(const BoundStep& step, PlanRun& run) {
  if (isRouterProduct(step)) return routerProduct(step, run);
  return runsFused(step) ? fusedWeightGradient(step, run) : libraryWeightGradient(step, run);
}

}  // namespace

namespace ops {
const CudaOp groupedGemm{launchProduct, whyNotProduct};
const CudaOp denseGemm{launchProduct, whyNotProduct};
const CudaOp weightGradient{launchWeightGradient, whyNotProduct};
}  // namespace ops

}  // namespace moeblaze::cuda
