#pragma once

#include <vector>

#include "core/systems/layer.h"

namespace moeblaze {

/// A layer that copies tokens to rows, runs its products over them and copies the results back, node by node as
/// MegaBlocks' autograd allocates and frees. Systems differ in their index structures, in how rows are padded, and in
/// what else their products read.
struct PermutedLayer : FrameworkLayer {
  PermutedLayer(PlanBuilder& builder, DType gateDtype) : FrameworkLayer(builder, {.gateDtype = gateDtype}) {}

  // Set by the system before anything is planned, and written by its sort.
  std::vector<BufferId> addressing;  ///< lead from rows to slots, forward and backward
  std::vector<BufferId> bounds;      ///< say where each expert's rows begin
  std::vector<BufferId> topology;    ///< what else a product of hidden rows reads
  KernelFamily products = KernelFamily::library;
  BufferId heldUntilMlpReturns = BufferId::none;

  void permute();
  /// First projections, each a product of its own.
  void up(FrameworkActivation& act);
  /// Second projection and the weighted way back to token order; then the first Steps of backward, down to the output
  /// gradient in rows and the gates'.
  void downAndUnpermute(BufferId y);
  /// The products' backward and the activation's between them; returns the rows' input gradient.
  BufferId mlpBackward(FrameworkActivation& act);
  void finishBackward(BufferId rowsGradient);

  PlanBuilder::StepRef product(const std::string& name, BufferId rowsIn, BufferId weight, BufferId rowsOut);
  PlanBuilder::StepRef weightGradient(const std::string& name, BufferId left, BufferId right, BufferId out);

  BufferId xPermuted{}, expertOutput{}, outputGradientRows{};

 private:
  void toTokens(const std::string& name, BufferId from, BufferId gates, BufferId out);
  BufferId upBackward(const std::string& name, BufferId gradient, BufferId weight, BufferId gradientOfWeight);
};

}  // namespace moeblaze
