#pragma once

#include "kernels/cuda/run/plan_run.h"
#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

/// What the CUDA backend has for one Op.
struct CudaOp {
  /// Launches a Step of this Op on the run's stream, without waiting for it unless the Plan says that the host stalls.
  /// Operands are read and written as MOEBLAZE_OPS describes.
  void (*launch)(const BoundStep& step, PlanRun& run) = nullptr;
  /// Why the backend cannot run this Step; null when it can. `boundsOnHost` says that the host has read the experts'
  /// bounds back before. Left out where every Step of the Op runs.
  const char* (*whyNot)(const BoundStep& step, bool boundsOnHost) = nullptr;
  /// Why no Step of this Op runs on a GPU; null when there is a kernel.
  const char* absent = nullptr;
};

/// Experts that a token may choose with a router on CUDA.
inline constexpr int64_t kMaxRouterChoices = 16;

// One entry for each Op, defined beside its kernels. An Op without an entry does not link.
namespace ops {
#define MOEBLAZE_OP(op, text) extern const CudaOp op;
MOEBLAZE_OPS(MOEBLAZE_OP)
#undef MOEBLAZE_OP
}  // namespace ops

/// The entry of `op`.
const CudaOp& cudaOp(Op op);

}  // namespace moeblaze::cuda
