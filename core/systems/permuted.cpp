#include "core/systems/permuted.h"

namespace moeblaze {

void PermutedLayer::permute() {
  xPermuted = b.transient("x_permuted", Layout::rows, {rows, c.dModel});
  b.step("permute", Op::gather).readsRows(layer.x, rows).readsAll(addressing).writes(xPermuted);
}

PlanBuilder::StepRef PermutedLayer::product(const std::string& name, BufferId rowsIn, BufferId weight,
                                            BufferId rowsOut) {
  return b.step(name, Op::groupedGemm)
      .reads(rowsIn, weight)
      .readsAll(bounds)
      .readsAll(topology)
      .writes(rowsOut)
      .family(products);
}

PlanBuilder::StepRef PermutedLayer::weightGradient(const std::string& name, BufferId left, BufferId right,
                                                   BufferId out) {
  return b.step(name, Op::weightGradient)
      .reads(left, right)
      .readsAll(bounds)
      .readsAll(topology)
      .writes(out)
      .family(products);
}

void PermutedLayer::up(FrameworkActivation& act) {
  const auto project = [&](const char* name, BufferId weight) {
    const BufferId out = b.hidden(name, Layout::rows, {rows, c.dFf});
    product(std::string("up_") + name, xPermuted, weight, out).grouped(c.dFf, c.dModel);
    return out;
  };
  act.a = project("A", layer.w1);
  if (gated()) act.b = project("B", layer.w2);
}

void PermutedLayer::downAndUnpermute(BufferId y) {
  expertOutput = b.transient("expert_output", Layout::rows, {rows, c.dModel});
  product("down", y, layer.w3, expertOutput).grouped(c.dModel, c.dFf);
  if (heldUntilMlpReturns != BufferId::none) b.release("mlp_return", heldUntilMlpReturns);
  toTokens("unpermute", expertOutput, layer.gates, layer.output);
  shared.forward();
  b.beginBackward();
  shared.backward();
  outputGradientRows = b.transient("dO_permuted", Layout::rows, {rows, c.dModel});
  b.step("unpermute_backward", Op::gather)
      .readsRows(layer.outputGradient, rows)
      .readsAll(addressing)
      .readsAs(Use::gates, layer.gates)
      .writes(outputGradientRows);
  b.step("gate_gradient", Op::gateGradient)
      .reads(expertOutput)
      .readsRows(layer.outputGradient, rows)
      .readsAll(addressing)
      .writes(layer.gateGradient);
}

/// Scatters rows to tokens; with k > 1 through a [L, k, d] copy that is then summed.
void PermutedLayer::toTokens(const std::string& name, BufferId from, BufferId gates, BufferId out) {
  const BufferId to = c.topK == 1 ? out : b.transient(name + "_slots", Layout::slots, {c.tokens, c.topK, c.dModel});
  b.step(name, Op::scatter).reads(from).readsAll(addressing).readsAs(Use::gates, gates).writes(to);
  if (to != out) b.step(name + "_reduce", Op::reduce).reads(to).writes(out);
}

BufferId PermutedLayer::upBackward(const std::string& name, BufferId gradient, BufferId weight,
                                   BufferId gradientOfWeight) {
  const BufferId out = b.transient("dx_" + name, Layout::rows, {rows, c.dModel});
  product("up_input_gradient_" + name, gradient, weight, out).grouped(c.dModel, c.dFf).transposed();
  weightGradient("up_weight_gradient_" + name, xPermuted, gradient, gradientOfWeight).groupedReduction(c.dModel, c.dFf);
  return out;
}

BufferId PermutedLayer::mlpBackward(FrameworkActivation& act) {
  const BufferId yGradient = b.transient("dY", Layout::rows, {rows, c.dFf});
  product("down_input_gradient", outputGradientRows, layer.w3, yGradient).grouped(c.dFf, c.dModel).transposed();
  weightGradient("down_weight_gradient", act.y, outputGradientRows, layer.w3Gradient).groupedReduction(c.dFf, c.dModel);
  activationBackward(b, act, yGradient, "");
  // The node that ran last in forward runs first in backward.
  BufferId sum = BufferId::none;
  if (gated()) sum = upBackward("B", act.bGradient, layer.w2, layer.w2Gradient);
  const BufferId fromA = upBackward("A", act.aGradient, layer.w1, layer.w1Gradient);
  if (sum == BufferId::none) return fromA;
  b.step("add_up_gradients", Op::add).reads(fromA, sum).writes(sum);
  return sum;
}

void PermutedLayer::finishBackward(BufferId rowsGradient) {
  const BufferId out = shared.routedInputGradient();
  toTokens("permute_backward", rowsGradient, BufferId::none, out);
  b.release("permute_return", rowsGradient);
  shared.addRouted(out);
  router.backward();
}

}  // namespace moeblaze
