#pragma once

#include <vector>

#include "core/plan/plan.h"
#include "kernels/cuda/run/context.h"

namespace moeblaze::cuda {

/// A block of device memory filled with random numbers, N(0, 1).
class RandomBlock {
 public:
  RandomBlock(int64_t elements, DType dtype, Context& context);
  ~RandomBlock();
  RandomBlock(const RandomBlock&) = delete;
  RandomBlock& operator=(const RandomBlock&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

/// cuBLAS on one square product of 16-bit elements. Its speed is what the GPU's clocks, which move by 15 %, allow at
/// this moment.
class SquareProduct {
 public:
  static constexpr int64_t kSize = 8192;
  explicit SquareProduct(Context& context);
  void run();
  static constexpr double flops() { return 2.0 * kSize * kSize * kSize; }

 private:
  Context& context_;
  RandomBlock a_, b_, c_;
};

/// The products of a layer and nothing else: no gather, no activation, no combine. cuBLAS computes them for each
/// expert, captured in a graph. This is what the layer would cost if everything around its arithmetic were free.
class BareLayer {
 public:
  /// Captures the products of the Plan's Steps, with the rows that its routing gives each expert.
  BareLayer(const Plan& plan, Context& context);
  ~BareLayer();
  BareLayer(const BareLayer&) = delete;
  BareLayer& operator=(const BareLayer&) = delete;

  void forward();
  void backward();
  /// Launches the products of one Step; does nothing when it has none.
  void step(int32_t step);

 private:
  void multiply(const Step& step);
  cudaGraphExec_t capture(int32_t first, int32_t last);
  void launch(cudaGraphExec_t graph);

  const Plan& plan_;
  Context& context_;
  RandomBlock left_, right_, weights_, gradients_;
  cudaGraphExec_t forward_ = nullptr, backward_ = nullptr;
  std::vector<cudaGraphExec_t> steps_;
};

}  // namespace moeblaze::cuda
