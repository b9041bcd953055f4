#include "core/systems/permuted_layer.h"

namespace moeblaze {

void PermutedLayer::permute() {
  xPermuted_ = builder_.transient("x_permuted", Layout::rows, {rows_, config_.dModel});
  gatherRows("permute", layer_.x, addressing_, xPermuted_);
}

void PermutedLayer::runUnfusedMlp() {
  FrameworkActivation act;
  up(act);
  activationForward(builder_, act, "");
  down(act.y);
  unpermute();
  finishBackward(mlpBackward(act));
}

PlanBuilder::StepRef PermutedLayer::productStep(const std::string& name, Op op, BufferId left, BufferId right,
                                                BufferId out) {
  return builder_.step(name, op).reads(left, right).readsAll(bounds_).readsAll(topology_).writes(out).family(products_);
}

PlanBuilder::StepRef PermutedLayer::product(const std::string& name, BufferId rowsIn, BufferId weight,
                                            BufferId rowsOut) {
  return productStep(name, Op::groupedGemm, rowsIn, weight, rowsOut);
}

PlanBuilder::StepRef PermutedLayer::weightGradient(const std::string& name, BufferId left, BufferId right,
                                                   BufferId out) {
  return productStep(name, Op::weightGradient, left, right, out);
}

void PermutedLayer::up(FrameworkActivation& act) {
  const auto project = [&](const char* name, BufferId weight) {
    const BufferId out = builder_.hidden(name, Layout::rows, {rows_, config_.dFf});
    product(std::string("up_") + name, xPermuted_, weight, out).grouped(config_.dFf, config_.dModel);
    return out;
  };
  act.a = project("A", layer_.w1);
  if (gated()) act.b = project("B", layer_.w2);
}

void PermutedLayer::down(BufferId y) {
  expertOutput_ = builder_.transient("expert_output", Layout::rows, {rows_, config_.dModel});
  product("down", y, layer_.w3, expertOutput_).grouped(config_.dModel, config_.dFf);
}

void PermutedLayer::unpermute() {
  toTokens("unpermute", expertOutput_, layer_.gates, layer_.output);
  shared_.forward();
  builder_.beginBackward();
  shared_.backward();
  outputGradientRows_ = builder_.transient("dO_permuted", Layout::rows, {rows_, config_.dModel});
  gatherRows("unpermute_backward", layer_.outputGradient, addressing_, outputGradientRows_, layer_.gates);
  builder_.step("gate_gradient", Op::gateGradient)
      .reads(expertOutput_)
      .readsRows(layer_.outputGradient, rows_)
      .readsAll(addressing_)
      .writes(layer_.gateGradient);
}

/// Adds rows to their tokens. With k > 1 the rows are first scattered to a copy [L, k, d], which is then summed.
void PermutedLayer::toTokens(const std::string& name, BufferId from, BufferId gates, BufferId out) {
  const MoeConfig& c = config_;
  const BufferId to =
      c.topK == 1 ? out : builder_.transient(name + "_slots", Layout::slots, {c.tokens, c.topK, c.dModel});
  builder_.step(name, Op::scatter).reads(from).readsAll(addressing_).readsAs(Use::gates, gates).writes(to);
  if (to != out) builder_.step(name + "_reduce", Op::reduce).reads(to).writes(out);
}

BufferId PermutedLayer::upBackward(const std::string& name, BufferId gradient, BufferId weight,
                                   BufferId gradientOfWeight) {
  const MoeConfig& c = config_;
  const BufferId out = builder_.transient("dx_" + name, Layout::rows, {rows_, c.dModel});
  product("up_input_gradient_" + name, gradient, weight, out).grouped(c.dModel, c.dFf).transposed();
  weightGradient("up_weight_gradient_" + name, xPermuted_, gradient, gradientOfWeight)
      .groupedReduction(c.dModel, c.dFf);
  return out;
}

BufferId PermutedLayer::mlpBackward(FrameworkActivation& act) {
  const MoeConfig& c = config_;
  const BufferId yGradient = builder_.transient("dY", Layout::rows, {rows_, c.dFf});
  product("down_input_gradient", outputGradientRows_, layer_.w3, yGradient).grouped(c.dFf, c.dModel).transposed();
  weightGradient("down_weight_gradient", act.y, outputGradientRows_, layer_.w3Gradient)
      .groupedReduction(c.dFf, c.dModel);
  activationBackward(builder_, act, yGradient, "");
  // Autograd runs nodes in reverse: B's product was the last in forward.
  BufferId sum = BufferId::none;
  if (gated()) sum = upBackward("B", act.bGradient, layer_.w2, layer_.w2Gradient);
  const BufferId fromA = upBackward("A", act.aGradient, layer_.w1, layer_.w1Gradient);
  if (sum == BufferId::none) return fromA;
  builder_.step("add_up_gradients", Op::add).reads(fromA, sum).writes(sum);
  return sum;
}

void PermutedLayer::finishBackward(BufferId rowsGradient) {
  const BufferId out = shared_.routedInputGradient();
  toTokens("permute_backward", rowsGradient, BufferId::none, out);
  builder_.release("permute_return", rowsGradient);
  shared_.addRouted(out);
  router_.backward();
}

}  // namespace moeblaze
