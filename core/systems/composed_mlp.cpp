// The Steps of one MLP of a composed layer: routed experts of a chunk, or the shared ones.
#include "core/systems/composed_layer.h"

namespace moeblaze {

void Composed::mlpForward(Mlp& mlp, BufferId out) {
  if (how.fused) {
    fusedUp(mlp, "up", !recomputes(), true);
  } else if (how.save == Save::all) {
    projections(mlp);
    activationForward(b, mlp.act, mlp.suffix);
  } else {
    projections(mlp);
    mlp.act.y = activationStep(mlp, "Y");
  }
  auto step = productOf(mlp, "down").reads(mlp.act.y);
  readWeight(step, mlp, mlp.w3);
  readOffsets(step, mlp);
  if (!mlp.routed) step.reads(out);  // adds to what the routed experts left
  step.write(out, rowBytes(mlp, out));
  product(step, mlp, c.dModel, mlp.width);
}

void Composed::declareProjections(Mlp& mlp, const std::string& again) {
  const int64_t columns = joined(mlp) ? 2 * mlp.width : mlp.width;
  mlp.act.a =
      b.hidden((joined(mlp) ? "Z" : "A") + again + mlp.suffix, layoutOf(mlp), {mlp.rows, columns}, how.preactivation);
  if (gated() && !joined(mlp))
    mlp.act.b = b.hidden("B" + again + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width}, how.preactivation);
}

void Composed::fusedUp(Mlp& mlp, const char* name, bool writesProjections, bool writesY) {
  if (writesProjections) declareProjections(mlp, "");
  if (writesY) mlp.act.y = b.hidden("Y" + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width});
  auto step = stepOf(mlp, name, Op::fusedUp);
  readInput(step, mlp);
  readWeight(step, mlp, mlp.w1);
  readWeight(step, mlp, mlp.w2);
  if (writesProjections) step.writesAs(Use::a, mlp.act.a).writesAs(Use::b, mlp.act.b);
  if (writesY) step.writesAs(Use::y, mlp.act.y);
  product(step, mlp, c.upProjections() * mlp.width, c.dModel);
}

void Composed::projections(Mlp& mlp, const std::string& again) {
  declareProjections(mlp, again);
  const auto project = [&](const char* name, BufferId weight, BufferId out) {
    auto step = productOf(mlp, std::string("up_") + name + again);
    readInput(step, mlp);
    readWeight(step, mlp, weight);
    step.writes(out);
    product(step, mlp, mlp.width, c.dModel);
  };
  project("A", mlp.w1, mlp.act.a);
  if (gated()) project("B", mlp.w2, mlp.act.b);
}

BufferId Composed::activationStep(const Mlp& mlp, const char* name) {
  const BufferId y = b.hidden(name + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width});
  stepOf(mlp, "activation", Op::fusedActivation)
      .readsAs(Use::a, mlp.act.a)
      .readsAs(Use::b, mlp.act.b)
      .writesAs(Use::y, y);
  return y;
}

void Composed::mlpBackward(Mlp& mlp, BufferId inputGradient) {
  if (recomputes() && how.fused) fusedUp(mlp, "up_recomputed", true, false);
  if (recomputes() && !how.fused) projections(mlp, ".recomputed");
  if (fusedBackward()) {
    fusedDownBackward(mlp);
  } else {
    downBackward(mlp);
  }
  upBackward(mlp, inputGradient);
}

void Composed::fusedDownBackward(Mlp& mlp) {
  const Shape shape{mlp.rows, mlp.width};
  const auto gradientOf = [&](const char* name, BufferId projection) {
    const Shape full = b.at(projection).shape;
    return how.inPlace ? b.alias(name + mlp.suffix, projection, full)
                       : b.transient(name + mlp.suffix, layoutOf(mlp), full);
  };
  mlp.act.aGradient = gradientOf(joined(mlp) ? "dZ" : "dA", mlp.act.a);
  if (mlp.act.b != BufferId::none) mlp.act.bGradient = gradientOf("dB", mlp.act.b);
  const BufferId scaledY = b.transient("Y.scaled" + mlp.suffix, layoutOf(mlp), shape);
  auto step = stepOf(mlp, "down_backward", Op::fusedDownBackward);
  readOutputGradient(step, mlp);
  readWeight(step, mlp, mlp.w3);
  step.readsAs(Use::a, mlp.act.a).readsAs(Use::b, mlp.act.b);
  readGates(step, mlp);
  step.writesAs(Use::a, mlp.act.aGradient).writesAs(Use::b, mlp.act.bGradient).writesAs(Use::y, scaledY);
  if (mlp.routed) step.write(gateParts, rowBytes(mlp, gateParts), Use::parts);
  product(step, mlp, mlp.width, c.dModel).transposed();
  downWeightGradient(mlp, scaledY, false);
}

void Composed::downWeightGradient(const Mlp& mlp, BufferId y, bool gates) {
  auto step = stepOf(mlp, "down_weight_gradient", Op::weightGradient).reads(y);
  readOutputGradient(step, mlp);
  if (gates) readGates(step, mlp);
  writeWeightGradient(step, mlp, mlp.w3Gradient);
  reduction(step, mlp, mlp.width, c.dModel);
}

void Composed::downBackward(Mlp& mlp) {
  const Shape shape{mlp.rows, mlp.width};
  const bool keepsY = how.save == Save::all || how.save == Save::paper;
  if (!keepsY) mlp.act.y = activationStep(mlp, "Y.again");
  downWeightGradient(mlp, mlp.act.y, true);
  const BufferId yGradient = b.transient("dY" + mlp.suffix, layoutOf(mlp), shape);
  auto step = productOf(mlp, "down_input_gradient");
  readOutputGradient(step, mlp);
  readWeight(step, mlp, mlp.w3);
  step.writes(yGradient);
  product(step, mlp, mlp.width, c.dModel).transposed();
  if (how.save == Save::all) {
    BufferId scaled = yGradient;
    if (mlp.routed) {
      scaled = b.alias("dY.scaled" + mlp.suffix, yGradient, shape);
      auto scale = stepOf(mlp, "scale_gradient", Op::scaleRows).reads(yGradient);
      readGates(scale, mlp);
      readOffsets(scale, mlp);
      scale.writes(scaled);
    }
    activationBackward(b, mlp.act, scaled, mlp.suffix);
    return;
  }
  if (mlp.routed)
    stepOf(mlp, "gate_gradient", Op::gateGradient)
        .reads(yGradient, mlp.act.y, offsets)
        .write(gateParts, rowBytes(mlp, gateParts), Use::parts);
  mlp.act.aGradient = b.transient("dA" + mlp.suffix, layoutOf(mlp), shape);
  if (gated()) mlp.act.bGradient = b.transient("dB" + mlp.suffix, layoutOf(mlp), shape);
  auto fused = stepOf(mlp, "activation_backward", Op::fusedActivationBackward).reads(yGradient);
  fused.readsAs(Use::a, mlp.act.a).readsAs(Use::b, mlp.act.b);
  readGates(fused, mlp);
  readOffsets(fused, mlp);
  fused.writesAs(Use::a, mlp.act.aGradient).writesAs(Use::b, mlp.act.bGradient);
}

void Composed::upBackward(const Mlp& mlp, BufferId inputGradient) {
  const int64_t upWidth = c.upProjections() * mlp.width;
  const bool second = mlp.act.bGradient != BufferId::none;
  auto weights = stepOf(mlp, "up_weight_gradient", Op::weightGradient);
  readInput(weights, mlp);
  weights.reads(mlp.act.aGradient);
  if (second) weights.reads(mlp.act.bGradient);
  writeWeightGradient(weights, mlp, mlp.w1Gradient);
  writeWeightGradient(weights, mlp, mlp.w2Gradient);
  reduction(weights, mlp, c.dModel, upWidth);

  auto step = productOf(mlp, "up_input_gradient").reads(mlp.act.aGradient);
  if (second) step.reads(mlp.act.bGradient);
  readWeight(step, mlp, mlp.w1);
  readWeight(step, mlp, mlp.w2);
  readOffsets(step, mlp);
  step.write(inputGradient, rowBytes(mlp, inputGradient));
  product(step, mlp, c.dModel, upWidth).transposed();
}

}  // namespace moeblaze
