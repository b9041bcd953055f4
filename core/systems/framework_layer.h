#pragma once

#include <string>
#include <vector>

#include "core/systems/layer.h"

namespace moeblaze {

/// Results of the first products of an MLP and of the activation, as a framework's autograd computes and keeps them.
struct FrameworkActivation {
  BufferId a = BufferId::none, b = BufferId::none;  ///< x·W1 and x·W2; b is none without a gate
  BufferId s = BufferId::none;                      ///< act(A)
  BufferId y = BufferId::none;                      ///< what the last product reads: act(A)⊙B, or s without a gate
  BufferId kept = BufferId::none;                   ///< what the activation's backward reads: A, or act(A) for relu
  BufferId aGradient = BufferId::none, bGradient = BufferId::none;
};

/// Plans act(A) and, with a gate, the product with B. Each autograd node keeps its inputs. `suffix` tells the buffers
/// and Steps of one MLP from those of another.
void activationForward(PlanBuilder& builder, FrameworkActivation& act, const std::string& suffix);
/// Plans the backward of the same nodes. Both gradients of the product exist before its inputs are freed.
void activationBackward(PlanBuilder& builder, FrameworkActivation& act, BufferId yGradient, const std::string& suffix);

/// Shared experts as one dense MLP over all tokens, run and kept as a framework does. Forward adds to the layer's
/// output. Backward comes before that of the routed experts and writes the input gradient. Plans nothing when the
/// config has no shared experts.
class FrameworkSharedExperts {
 public:
  FrameworkSharedExperts(PlanBuilder& builder, const Layer& layer);
  void forward();
  void backward();
  /// Where the routed experts put their input gradient: the layer's own, or a transient that addRouted() adds to it.
  BufferId routedInputGradient();
  void addRouted(BufferId routed);

 private:
  PlanBuilder& builder_;
  const Layer& layer_;
  SharedWeights weights_;
  FrameworkActivation act_;
};

/// The base of the Plans of all frameworks.
class FrameworkLayer {
 public:
  FrameworkLayer(const FrameworkLayer&) = delete;  // router_ and shared_ refer to layer_

 protected:
  FrameworkLayer(PlanBuilder& builder, LayerStyle style);

  bool gated() const { return isGated(config_.activation); }
  /// Appends a Step that gathers the rows of `tokens` [L, d] into `out` [rows, d], times `gates` unless those are none.
  void gatherRows(std::string name, BufferId tokens, const std::vector<BufferId>& addressing, BufferId out,
                  BufferId gates = BufferId::none);

  PlanBuilder& builder_;
  const MoeConfig& config_;
  int64_t rows_;  ///< of all experts
  Layer layer_;
  RouterSteps router_;
  FrameworkSharedExperts shared_;
};

/// The plan function of a system whose layer is made from the builder and the system.
template <typename SystemLayer>
void planLayer(PlanBuilder& builder, const System& system) {
  SystemLayer layer(builder, system);
  layer.forward();
  layer.backward();
}

}  // namespace moeblaze
