#pragma once

#include "core/systems/plan_builder.h"
#include "core/systems/system.h"

namespace moeblaze {

/// How a system stores the tensors that every layer has.
struct LayerStyle {
  bool fusedUpWeights = false;  ///< W1 and W2 are one parameter W12 [E, d_model, 2·d_ff]
  bool denseGates = false;      ///< gates are [E, L], with a value only where a token chose the expert, not [L, k]
  DType gateDtype = DType::fp32;
};

/// The buffers that every system has. Weights are row-major, so that one copy serves forward and backward: W1 and W2
/// are [E, d_model, d_ff], W3 is [E, d_ff, d_model].
struct Layer {
  Layer(PlanBuilder& builder, LayerStyle style);

  BufferId x, topkIds, gates, outputGradient;
  BufferId w1, w2 = BufferId::none, w3;  ///< w1 is W12 for fusedUpWeights; w2 is none then, and without a gate
  BufferId output, inputGradient, gateGradient;
  BufferId w1Gradient, w2Gradient = BufferId::none, w3Gradient;
};

/// fp32, or fp64 in an fp64 layer: the dtype of sums and of the router, whatever the layer's own dtype is.
DType wideDtype(const MoeConfig& config);

/// The router's own Steps, which are planned only when PlanOptions ask for them: logits x·Wr, softmax or sigmoid,
/// top-k, and their backward. The backward adds to the input gradient, so that must have been written before.
class RouterSteps {
 public:
  RouterSteps(PlanBuilder& builder, const Layer& layer);
  void forward();
  void backward();

 private:
  BufferId own(BufferId id);

  PlanBuilder& builder_;
  const Layer& layer_;
  BufferId weight_{}, weightGradient_{}, logits_{}, scores_{};
  BufferId bias_ = BufferId::none;  ///< only sigmoid routers have one; it changes which experts win, not their gates
};

/// Parameters of the shared experts, which run as one dense MLP, and their gradients. All are none when the config has
/// no shared experts.
struct SharedWeights {
  explicit SharedWeights(PlanBuilder& builder);

  int64_t width;  ///< hidden width of all shared experts together; 0 without shared experts
  BufferId w1 = BufferId::none, w2 = BufferId::none, w3 = BufferId::none;
  BufferId w1Gradient = BufferId::none, w2Gradient = BufferId::none, w3Gradient = BufferId::none;
};

/// ⌈capacity·L·k/E⌉, at least 1 and at most L: the rows of each expert under capacity-limited dispatch.
int64_t expertCapacity(const MoeConfig& config, double capacity);

}  // namespace moeblaze
