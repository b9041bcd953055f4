#pragma once

#include "core/systems/plan_builder.h"
#include "core/systems/system.h"

namespace moeblaze {

/// How a system stores what every layer has.
struct LayerStyle {
  bool fusedUpWeights = false;  ///< W1 and W2 are one parameter W12 [E, d, 2h]
  bool denseGates = false;      ///< gates are a dense [E, L] map, not [L, k]
  DType gateDtype = DType::fp32;
};

/// Buffers every system has, declared in one place. Weights are row-major, so that one copy serves both directions:
/// W1, W2 [E, d, h], W3 [E, h, d].
struct Layer {
  Layer(PlanBuilder& builder, LayerStyle style);

  BufferId x, topkIds, gates, outputGradient;
  BufferId w1, w2 = BufferId::none, w3;  ///< w1 is W12 and w2 none when fused; w2 none when not gated
  BufferId output, inputGradient, gateGradient;
  BufferId w1Gradient, w2Gradient = BufferId::none, w3Gradient;
};

/// The router's own Steps, planned when PlanOptions ask: softmax or sigmoid over logits x·Wr, top-k, and back. Its
/// backward adds to the input gradient, which must have been written.
class RouterSteps {
 public:
  RouterSteps(PlanBuilder& builder, const Layer& layer);
  void forward();
  void backward();

 private:
  BufferId own(BufferId id);
  DType routerDtype() const;

  PlanBuilder& builder_;
  const Layer& layer_;
  BufferId weight_{}, weightGradient_{}, logits_{}, scores_{};
  BufferId bias_ = BufferId::none;  ///< of sigmoid routers: shifts the choice, not the gates
};

/// First projections' results and their activation, as a framework's autograd runs and keeps them.
struct FrameworkActivation {
  BufferId a = BufferId::none, b = BufferId::none;  ///< b is none when not gated
  BufferId s = BufferId::none;                      ///< act(A); the result itself when not gated
  BufferId y = BufferId::none;                      ///< what the second projection reads
  BufferId kept = BufferId::none;                   ///< what act's backward reads: A, or act(A) for relu
  BufferId aGradient = BufferId::none, bGradient = BufferId::none;
};

/// Steps act(A) and, when gated, ·B; each node keeps its inputs. `suffix` tells shared experts' buffers apart.
void activationForward(PlanBuilder& builder, FrameworkActivation& act, const std::string& suffix);
/// The nodes backward: the product's two gradients exist together before its inputs go.
void activationBackward(PlanBuilder& builder, FrameworkActivation& act, BufferId yGradient, const std::string& suffix);

/// Parameters of the shared experts, run as one dense MLP of width h_s, and their gradients; none without them.
struct SharedWeights {
  explicit SharedWeights(PlanBuilder& builder);

  int64_t width;  ///< h_s; 0 without shared experts
  BufferId w1 = BufferId::none, w2 = BufferId::none, w3 = BufferId::none;
  BufferId w1Gradient = BufferId::none, w2Gradient = BufferId::none, w3Gradient = BufferId::none;
};

/// Shared experts as one dense MLP of width h_s over all tokens, run and kept as a framework does. Forward adds to the
/// output; backward comes before the routed experts' and writes the input gradient. Nothing when the config has none.
class FrameworkSharedExperts {
 public:
  FrameworkSharedExperts(PlanBuilder& builder, const Layer& layer);
  void forward();
  void backward();
  /// Where the routed path puts its input gradient: the layer's own, or a transient that `addRouted` adds to it.
  BufferId routedInputGradient();
  void addRouted(BufferId routed);

 private:
  PlanBuilder& builder_;
  const Layer& layer_;
  SharedWeights weights_;
  FrameworkActivation act_;
};

/// What the Plan of every framework starts from.
struct FrameworkLayer {
  FrameworkLayer(PlanBuilder& builder, LayerStyle style);
  FrameworkLayer(const FrameworkLayer&) = delete;  // its parts refer to its buffers
  bool gated() const { return isGated(c.activation); }

  PlanBuilder& b;
  const MoeConfig& c;
  int64_t rows;  ///< R
  Layer layer;
  RouterSteps router;
  FrameworkSharedExperts shared;
};

/// Capacity factor of a system that has the parameter: its value, or the config's, or 1.25.
double capacityOf(const MoeConfig& config, const System& system);

// One function per family of systems, each in the file of its name.
void planMegablocks(PlanBuilder& builder, const System& system);
void planMegablocksMemopt(PlanBuilder& builder, const System& system);
void planScattermoe(PlanBuilder& builder, const System& system);
void planMomoe(PlanBuilder& builder, const System& system);
void planTorch(PlanBuilder& builder, const System& system);
void planMoeblaze(PlanBuilder& builder, const System& system);
void planMoeblazePaper(PlanBuilder& builder, const System& system);
void planMoeblazeMin(PlanBuilder& builder, const System& system);
void planSonicmoe(PlanBuilder& builder, const System& system);
void planMegatron(PlanBuilder& builder, const System& system);
void planMegatronMoeAct(PlanBuilder& builder, const System& system);
void planMegablocksSparse(PlanBuilder& builder, const System& system);
void planGshard(PlanBuilder& builder, const System& system);
void planCustom(PlanBuilder& builder, const System& system);

}  // namespace moeblaze
