#pragma once

#include <string>
#include <vector>

#include "core/systems/framework_layer.h"

namespace moeblaze {

/// A layer that copies tokens to rows, runs its products over the rows and copies the results back, one autograd node
/// after the other as MegaBlocks allocates and frees them. Systems differ in their index structures, in how they pad
/// rows, and in what else their products read.
class PermutedLayer : public FrameworkLayer {
 protected:
  PermutedLayer(PlanBuilder& builder, DType gateDtype) : FrameworkLayer(builder, {.gateDtype = gateDtype}) {}

  // A system sets these, and plans the Step that writes the structures, before it calls permute().
  std::vector<BufferId> addressing_;  ///< index structures that lead from rows to slots
  std::vector<BufferId> bounds_;      ///< index structures that say where each expert's rows begin
  std::vector<BufferId> topology_;    ///< further index structures that the products read
  KernelFamily products_ = KernelFamily::library;

  /// Copies the layer's input to rows.
  void permute();
  /// Plans the rest of forward and all of backward, with every product and activation a node of its own.
  void runUnfusedMlp();

  // The parts of runUnfusedMlp(), for a system that runs others between them.

  /// The first products of the MLP.
  void up(FrameworkActivation& act);
  /// The last product.
  void down(BufferId y);
  /// Returns the rows to token order, times their gates; then begins backward, as far as the gradients of the last
  /// product's result and of the gates.
  void unpermute();
  /// Backward of the products and of the activation between them; returns the input gradient in rows.
  BufferId mlpBackward(FrameworkActivation& act);
  /// Returns the input gradient to token order and finishes backward.
  void finishBackward(BufferId rowsGradient);

  PlanBuilder::StepRef product(const std::string& name, BufferId rowsIn, BufferId weight, BufferId rowsOut);
  PlanBuilder::StepRef weightGradient(const std::string& name, BufferId left, BufferId right, BufferId out);

  BufferId xPermuted_{}, expertOutput_{}, outputGradientRows_{};

 private:
  PlanBuilder::StepRef productStep(const std::string& name, Op op, BufferId left, BufferId right, BufferId out);
  void toTokens(const std::string& name, BufferId from, BufferId gates, BufferId out);
  BufferId upBackward(const std::string& name, BufferId gradient, BufferId weight, BufferId gradientOfWeight);
};

}  // namespace moeblaze
