#pragma once

#include <string>
#include <vector>

#include "core/systems/composition.h"
#include "core/systems/framework_layer.h"

namespace moeblaze {

/// Plans a layer for any legal Composition.
class ComposedLayer {
 public:
  ComposedLayer(PlanBuilder& builder, const Composition& composition);

  void forward();
  void backward();

 private:
  /// An MLP under construction: the routed experts of one chunk, whose Steps address rows, or all shared experts as one
  /// dense MLP over the tokens.
  struct Mlp {
    std::string suffix;  ///< ends the names of its buffers and Steps
    int64_t rows = 0, width = 0;
    int64_t firstExpert = 0;
    int64_t experts = 1;     ///< in this chunk
    int64_t allExperts = 1;  ///< whose matrices the weights hold
    bool routed = true;
    BufferId w1{}, w2{}, w3{}, w1Gradient{}, w2Gradient{}, w3Gradient{};
    FrameworkActivation act{};
  };

  // Parts of the layer.
  void splitExperts();
  void buildIndex();
  void gatherGates();
  /// Copies a tensor in token order to rows, without gates.
  BufferId gather(const char* name, BufferId tokens);
  void reduceGradients(BufferId rowsGradient);

  // Steps of one MLP.
  void mlpForward(Mlp& mlp, BufferId out);
  void declareProjections(Mlp& mlp, const std::string& again);
  /// The first products and the activation in one kernel.
  void fusedUp(Mlp& mlp, const char* name, bool writesProjections, bool writesY);
  /// Each first product as a Step of its own. `again` ends the names when they are computed a second time.
  void projections(Mlp& mlp, const std::string& again = {});
  BufferId activationStep(const Mlp& mlp, const char* name);
  void mlpBackward(Mlp& mlp, BufferId inputGradient);
  /// The output gradient times W3ᵀ, with the activation's backward in the epilogue. The epilogue also computes Y again,
  /// times the gate, as an operand of W3's gradient.
  void fusedDownBackward(Mlp& mlp);
  void downWeightGradient(const Mlp& mlp, BufferId y, bool gates);
  /// W3's gradient from Y, then Y's gradient as a buffer (Algorithm 1 of the MoEBlaze paper), then the activation's
  /// backward: one kernel, or one autograd node after the other when everything was saved.
  void downBackward(Mlp& mlp);
  /// The activation's backward in one kernel, and the gate gradient before it.
  void fusedActivationBackward(Mlp& mlp, BufferId yGradient);
  void upBackward(const Mlp& mlp, BufferId inputGradient);

  // Choices that follow from the composition.
  bool gated() const { return isGated(config_.activation); }
  bool copies() const { return composition_.dispatch != Dispatch::indexed; }
  bool recomputes() const { return composition_.save == Save::input; }
  /// True when the activation's backward runs in the epilogue of the product before it. The MoEBlaze paper runs it as a
  /// kernel of its own that reads the saved Y.
  bool fusedBackward() const { return composition_.fused && composition_.save != Save::paper; }
  /// Partial sums of the gate gradient in each row: one for each tile of columns, or one when it is a Step of its own.
  int64_t gateTiles() const;
  /// True when the MLP has Z instead of A and B. Shared experts never have: their W1 and W2 are two parameters.
  bool joined(const Mlp& mlp) const { return composition_.fusedWeights && gated() && mlp.routed; }

  // Operands of an MLP's Steps.
  /// Makes the Steps that follow address the MLP's rows; those of the shared experts address none.
  void use(const Mlp& mlp);
  void useAllExperts();
  PlanBuilder::StepRef stepOf(const Mlp& mlp, const char* name, Op op) { return builder_.step(name + mlp.suffix, op); }
  PlanBuilder::StepRef productOf(const Mlp& mlp, const std::string& name);
  Layout layoutOf(const Mlp& mlp) const { return mlp.routed ? Layout::rows : Layout::tokens; }
  void readWeight(PlanBuilder::StepRef step, const Mlp& mlp, BufferId weight);
  void writeWeightGradient(PlanBuilder::StepRef step, const Mlp& mlp, BufferId gradient);
  /// Reads the MLP's rows of a tensor: from `tokens`, which is in token order, or from `copy`, which holds it in rows.
  void readRows(PlanBuilder::StepRef step, const Mlp& mlp, BufferId tokens, BufferId copy);
  void readInput(PlanBuilder::StepRef step, const Mlp& mlp) { readRows(step, mlp, layer_.x, input_); }
  void readOutputGradient(PlanBuilder::StepRef step, const Mlp& mlp) {
    readRows(step, mlp, layer_.outputGradient, outputGradient_);
  }
  /// Reads the gates of the MLP's rows: from rowGates_, or as SonicMoE does through the slots.
  void readGates(PlanBuilder::StepRef step, const Mlp& mlp);
  void readOffsets(PlanBuilder::StepRef step, const Mlp& mlp) {
    if (mlp.routed) step.reads(offsets_);
  }
  /// Bytes of the MLP's rows in a buffer that all chunks share.
  int64_t rowBytes(const Mlp& mlp, BufferId id) const;
  PlanBuilder::StepRef product(PlanBuilder::StepRef step, const Mlp& mlp, int64_t n, int64_t k);
  void reduction(PlanBuilder::StepRef step, const Mlp& mlp, int64_t m, int64_t n);

  PlanBuilder& builder_;
  const MoeConfig& config_;
  Composition composition_;
  Layer layer_;
  RouterSteps router_;
  std::vector<Mlp> chunks_;
  Mlp shared_;
  BufferId tokenOfRow_{}, offsets_{}, expertOfSlot_{}, rowOfSlot_{};
  BufferId slotOfRow_ = BufferId::none, tokenOffsets_ = BufferId::none;  ///< only SonicMoE has these
  BufferId input_{}, outputGradient_{};                                  ///< copies in rows, where dispatch copies
  BufferId expertOutput_{}, gateParts_{};
  BufferId rowGates_ = BufferId::none;  ///< gates in the order of rows, for backward; SonicMoE has none
};

}  // namespace moeblaze
