#include "kernels/cuda/library/references.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/library/library_gemm.h"
#include "kernels/cuda/library/random_fill.h"

namespace moeblaze::cuda {
namespace {

/// Elements of the widest operand of rows, which is as wide as the model or the hidden layer.
int64_t rowElements(const Plan& plan) { return plan.config.rows() * std::max(plan.config.dModel, plan.config.dFf); }

/// Library products that stand for the Step's product: those with W1 and W2 run apart.
int32_t factorsOf(const Plan& plan, const Step& step) {
  const bool up = step.op == Op::fusedUp, both = step.op == Op::weightGradient && plan.writes(step).size() > 1;
  int32_t weights = 0;
  for (const Operand& operand : plan.reads(step)) weights += plan.buffer(operand.id).role == Role::weight;
  return up || step.op == Op::groupedGemm ? std::max(1, weights) : both ? 2 : 1;
}

}  // namespace

RandomBlock::RandomBlock(int64_t elements, DType dtype, Context& context) {
  MOEBLAZE_CUDA_CHECK(cudaMalloc(&data_, static_cast<size_t>(elements * sizeOf(dtype))));
  constexpr uint64_t kSeed = 11;
  fillNormal(data_, dtype, elements, 0, 1, kSeed, context.stream());
}

RandomBlock::~RandomBlock() { cudaFree(data_); }

SquareProduct::SquareProduct(Context& context)
    : context_(context),
      a_(kSize * kSize, DType::bf16, context),
      b_(kSize * kSize, DType::bf16, context),
      c_(kSize * kSize, DType::bf16, context) {}

void SquareProduct::run() {
  multiplyRowMajor(
      context_, DType::bf16,
      {.m = kSize, .n = kSize, .k = kSize, .a = {a_.data(), kSize}, .b = {b_.data(), kSize}, .c = {c_.data(), kSize}});
}

BareLayer::BareLayer(const Plan& plan, Context& context)
    : plan_(plan),
      context_(context),
      left_(rowElements(plan), plan.config.dtype, context),
      right_(rowElements(plan), plan.config.dtype, context),
      weights_(plan.config.experts * plan.config.dModel * plan.config.dFf, plan.config.dtype, context),
      gradients_(plan.config.experts * plan.config.dModel * plan.config.dFf, plan.config.dtype, context),
      steps_(plan.steps.size()) {
  context.cublas();  // creates the workspace now, because nothing can be allocated while a graph is captured
  const auto count = static_cast<int32_t>(plan.steps.size());
  for (int32_t i = 0; i < count; ++i)
    if (!plan.steps[i].gemm.empty() && plan.steps[i].gemm.experts > 0) steps_[i] = capture(i, i + 1);
  forward_ = capture(0, plan.forwardSteps);
  backward_ = capture(plan.forwardSteps, count);
}

BareLayer::~BareLayer() {
  steps_.push_back(forward_);
  steps_.push_back(backward_);
  for (cudaGraphExec_t graph : steps_)
    if (graph != nullptr) cudaGraphExecDestroy(graph);
}

/// Enqueues the product of every expert, between blocks that are large enough for any operand. Rows come from the left
/// block, and from the right block as well when rows are reduced. The result goes to the block that is not read.
void BareLayer::multiply(const Step& step) {
  const GemmShape& gemm = step.gemm;
  const MoeConfig& c = plan_.config;
  const int64_t matrix = c.dModel * c.dFf, size = sizeOf(c.dtype);
  const int32_t factors = factorsOf(plan_, step);
  int64_t row = 0;
  for (int32_t e = gemm.firstExpert; e < gemm.firstExpert + gemm.experts; ++e) {
    const int64_t rows = plan_.rowsPerExpert[e];
    const auto rowsOf = [&](const RandomBlock& block, int64_t width) { return block.data() + row * width * size; };
    for (int32_t i = 0; rows > 0 && i < factors; ++i) {
      std::byte* const weight = weights_.data() + e * matrix * size;
      if (gemm.ragged == Ragged::reduction) {
        const int64_t n = gemm.n / factors;
        multiplyRowMajor(context_, c.dtype,
                         {.m = gemm.m,
                          .n = n,
                          .k = rows,
                          .a = {rowsOf(left_, gemm.m), gemm.m, true},
                          .b = {rowsOf(right_, n), n},
                          .c = {gradients_.data() + e * matrix * size, n}});
        continue;
      }
      // A forward Step with several weights has as many results; a backward Step sums as many products.
      const bool sums = gemm.transposed;
      const int64_t n = sums ? gemm.n : gemm.n / factors, k = sums ? gemm.k / factors : gemm.k;
      multiplyRowMajor(context_, c.dtype,
                       {.m = rows,
                        .n = n,
                        .k = k,
                        .a = {rowsOf(left_, k), k},
                        .b = {weight, sums ? k : n, sums},
                        .c = {rowsOf(right_, n), n},
                        .adds = sums && i > 0});
    }
    row += rows;
  }
}

cudaGraphExec_t BareLayer::capture(int32_t first, int32_t last) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  MOEBLAZE_CUDA_CHECK(cudaStreamBeginCapture(context_.stream(), cudaStreamCaptureModeThreadLocal));
  for (int32_t i = first; i < last; ++i)
    if (!plan_.steps[i].gemm.empty() && plan_.steps[i].gemm.experts > 0) multiply(plan_.steps[i]);
  MOEBLAZE_CUDA_CHECK(cudaStreamEndCapture(context_.stream(), &graph));
  MOEBLAZE_CUDA_CHECK(cudaGraphInstantiate(&executable, graph, 0));
  MOEBLAZE_CUDA_CHECK(cudaGraphDestroy(graph));
  return executable;
}

void BareLayer::launch(cudaGraphExec_t graph) { MOEBLAZE_CUDA_CHECK(cudaGraphLaunch(graph, context_.stream())); }
void BareLayer::forward() { launch(forward_); }
void BareLayer::backward() { launch(backward_); }
void BareLayer::step(int32_t step) {
  if (steps_[step] != nullptr) launch(steps_[step]);
}

}  // namespace moeblaze::cuda
