// The part of ComposedLayer that plans the Steps of one MLP.
#include "core/systems/composed_layer.h"

namespace moeblaze {

void ComposedLayer::mlpForward(Mlp& mlp, BufferId out) {
  if (composition_.fused) {
    fusedUp(mlp, "up", !recomputes(), true);
  } else if (composition_.save == Save::all) {
    projections(mlp);
    activationForward(builder_, mlp.act, mlp.suffix);
  } else {
    projections(mlp);
    mlp.act.y = activationStep(mlp, "Y");
  }
  auto step = productOf(mlp, "down").reads(mlp.act.y);
  readWeight(step, mlp, mlp.w3);
  readOffsets(step, mlp);
  if (!mlp.routed) step.reads(out);  // the product adds to what the routed experts wrote
  step.write(out, rowBytes(mlp, out));
  product(step, mlp, config_.dModel, mlp.width);
}

void ComposedLayer::declareProjections(Mlp& mlp, const std::string& again) {
  const int64_t columns = joined(mlp) ? 2 * mlp.width : mlp.width;
  mlp.act.a = builder_.hidden((joined(mlp) ? "Z" : "A") + again + mlp.suffix, layoutOf(mlp), {mlp.rows, columns},
                              composition_.preactivation);
  if (gated() && !joined(mlp))
    mlp.act.b =
        builder_.hidden("B" + again + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width}, composition_.preactivation);
}

void ComposedLayer::fusedUp(Mlp& mlp, const char* name, bool writesProjections, bool writesY) {
  if (writesProjections) declareProjections(mlp, "");
  if (writesY) mlp.act.y = builder_.hidden("Y" + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width});
  auto step = stepOf(mlp, name, Op::fusedUp);
  readInput(step, mlp);
  readWeight(step, mlp, mlp.w1);
  readWeight(step, mlp, mlp.w2);
  if (writesProjections) step.writesAs(Use::a, mlp.act.a).writesAs(Use::b, mlp.act.b);
  if (writesY) step.writesAs(Use::y, mlp.act.y);
  product(step, mlp, config_.upProjections() * mlp.width, config_.dModel);
}

void ComposedLayer::projections(Mlp& mlp, const std::string& again) {
  declareProjections(mlp, again);
  const auto project = [&](const char* name, BufferId weight, BufferId out) {
    auto step = productOf(mlp, std::string("up_") + name + again);
    readInput(step, mlp);
    readWeight(step, mlp, weight);
    step.writes(out);
    product(step, mlp, mlp.width, config_.dModel);
  };
  project("A", mlp.w1, mlp.act.a);
  if (gated()) project("B", mlp.w2, mlp.act.b);
}

BufferId ComposedLayer::activationStep(const Mlp& mlp, const char* name) {
  const BufferId y = builder_.hidden(name + mlp.suffix, layoutOf(mlp), {mlp.rows, mlp.width});
  stepOf(mlp, "activation", Op::fusedActivation)
      .readsAs(Use::a, mlp.act.a)
      .readsAs(Use::b, mlp.act.b)
      .writesAs(Use::y, y);
  return y;
}

void ComposedLayer::mlpBackward(Mlp& mlp, BufferId inputGradient) {
  if (recomputes() && composition_.fused) fusedUp(mlp, "up_recomputed", true, false);
  if (recomputes() && !composition_.fused) projections(mlp, ".recomputed");
  if (fusedBackward()) {
    fusedDownBackward(mlp);
  } else {
    downBackward(mlp);
  }
  upBackward(mlp, inputGradient);
}

void ComposedLayer::fusedDownBackward(Mlp& mlp) {
  const Shape shape{mlp.rows, mlp.width};
  const auto gradientOf = [&](const char* name, BufferId projection) {
    const Shape full = builder_.at(projection).shape;
    return composition_.inPlace ? builder_.alias(name + mlp.suffix, projection, full)
                                : builder_.transient(name + mlp.suffix, layoutOf(mlp), full);
  };
  mlp.act.aGradient = gradientOf(joined(mlp) ? "dZ" : "dA", mlp.act.a);
  if (mlp.act.b != BufferId::none) mlp.act.bGradient = gradientOf("dB", mlp.act.b);
  const BufferId scaledY = builder_.transient("Y.scaled" + mlp.suffix, layoutOf(mlp), shape);
  auto step = stepOf(mlp, "down_backward", Op::fusedDownBackward);
  readOutputGradient(step, mlp);
  readWeight(step, mlp, mlp.w3);
  step.readsAs(Use::a, mlp.act.a).readsAs(Use::b, mlp.act.b);
  readGates(step, mlp);
  step.writesAs(Use::a, mlp.act.aGradient).writesAs(Use::b, mlp.act.bGradient).writesAs(Use::y, scaledY);
  if (mlp.routed) step.write(gateParts_, rowBytes(mlp, gateParts_), Use::parts);
  product(step, mlp, mlp.width, config_.dModel).transposed();
  downWeightGradient(mlp, scaledY, false);
}

void ComposedLayer::downWeightGradient(const Mlp& mlp, BufferId y, bool gates) {
  auto step = stepOf(mlp, "down_weight_gradient", Op::weightGradient).reads(y);
  readOutputGradient(step, mlp);
  if (gates) readGates(step, mlp);
  writeWeightGradient(step, mlp, mlp.w3Gradient);
  reduction(step, mlp, mlp.width, config_.dModel);
}

void ComposedLayer::downBackward(Mlp& mlp) {
  const Shape shape{mlp.rows, mlp.width};
  const bool keepsY = composition_.save == Save::all || composition_.save == Save::paper;
  if (!keepsY) mlp.act.y = activationStep(mlp, "Y.again");
  downWeightGradient(mlp, mlp.act.y, true);
  const BufferId yGradient = builder_.transient("dY" + mlp.suffix, layoutOf(mlp), shape);
  auto step = productOf(mlp, "down_input_gradient");
  readOutputGradient(step, mlp);
  readWeight(step, mlp, mlp.w3);
  step.writes(yGradient);
  product(step, mlp, mlp.width, config_.dModel).transposed();
  if (composition_.save == Save::all) {
    BufferId scaled = yGradient;
    if (mlp.routed) {
      scaled = builder_.alias("dY.scaled" + mlp.suffix, yGradient, shape);
      auto scale = stepOf(mlp, "scale_gradient", Op::scaleRows).reads(yGradient);
      readGates(scale, mlp);
      readOffsets(scale, mlp);
      scale.writes(scaled);
    }
    activationBackward(builder_, mlp.act, scaled, mlp.suffix);
    return;
  }
  fusedActivationBackward(mlp, yGradient);
}

void ComposedLayer::fusedActivationBackward(Mlp& mlp, BufferId yGradient) {
  const Shape shape{mlp.rows, mlp.width};
  if (mlp.routed)
    stepOf(mlp, "gate_gradient", Op::gateGradient)
        .reads(yGradient, mlp.act.y, offsets_)
        .write(gateParts_, rowBytes(mlp, gateParts_), Use::parts);
  mlp.act.aGradient = builder_.transient("dA" + mlp.suffix, layoutOf(mlp), shape);
  if (gated()) mlp.act.bGradient = builder_.transient("dB" + mlp.suffix, layoutOf(mlp), shape);
  auto fused = stepOf(mlp, "activation_backward", Op::fusedActivationBackward).reads(yGradient);
  fused.readsAs(Use::a, mlp.act.a).readsAs(Use::b, mlp.act.b);
  readGates(fused, mlp);
  readOffsets(fused, mlp);
  fused.writesAs(Use::a, mlp.act.aGradient).writesAs(Use::b, mlp.act.bGradient);
}

void ComposedLayer::upBackward(const Mlp& mlp, BufferId inputGradient) {
  const int64_t upWidth = config_.upProjections() * mlp.width;
  const bool second = mlp.act.bGradient != BufferId::none;
  auto weights = stepOf(mlp, "up_weight_gradient", Op::weightGradient);
  readInput(weights, mlp);
  weights.reads(mlp.act.aGradient);
  if (second) weights.reads(mlp.act.bGradient);
  writeWeightGradient(weights, mlp, mlp.w1Gradient);
  writeWeightGradient(weights, mlp, mlp.w2Gradient);
  reduction(weights, mlp, config_.dModel, upWidth);

  auto step = productOf(mlp, "up_input_gradient").reads(mlp.act.aGradient);
  if (second) step.reads(mlp.act.bGradient);
  readWeight(step, mlp, mlp.w1);
  readWeight(step, mlp, mlp.w2);
  readOffsets(step, mlp);
  step.write(inputGradient, rowBytes(mlp, inputGradient));
  product(step, mlp, config_.dModel, upWidth).transposed();
}

PlanBuilder::StepRef ComposedLayer::productOf(const Mlp& mlp, const std::string& name) {
  return builder_.step(name + mlp.suffix, mlp.routed ? Op::groupedGemm : Op::denseGemm);
}

void ComposedLayer::readWeight(PlanBuilder::StepRef step, const Mlp& mlp, BufferId weight) {
  if (weight != BufferId::none) step.read(weight, builder_.at(weight).bytes / mlp.allExperts * mlp.experts);
}

void ComposedLayer::writeWeightGradient(PlanBuilder::StepRef step, const Mlp& mlp, BufferId gradient) {
  if (gradient != BufferId::none) step.write(gradient, builder_.at(gradient).bytes / mlp.allExperts * mlp.experts);
}

void ComposedLayer::readRows(PlanBuilder::StepRef step, const Mlp& mlp, BufferId tokens, BufferId copy) {
  if (!mlp.routed) {
    step.reads(tokens);
  } else if (copies()) {
    step.readsRows(copy, mlp.rows).reads(offsets_);
  } else {
    step.readsRows(tokens, mlp.rows).read(tokenOfRow_, mlp.rows * sizeOf(DType::int32)).reads(offsets_);
  }
}

void ComposedLayer::readGates(PlanBuilder::StepRef step, const Mlp& mlp) {
  if (!mlp.routed) return;
  if (rowGates_ == BufferId::none) {
    step.readsAs(Use::gates, layer_.gates).reads(rowOfSlot_);
  } else {
    step.read(rowGates_, rowBytes(mlp, rowGates_), Use::gates);
  }
}

int64_t ComposedLayer::rowBytes(const Mlp& mlp, BufferId id) const {
  const Buffer& buffer = builder_.at(id);
  return buffer.bytes / buffer.shape.extents()[0] * mlp.rows;
}

PlanBuilder::StepRef ComposedLayer::product(PlanBuilder::StepRef step, const Mlp& mlp, int64_t n, int64_t k) {
  return mlp.routed ? step.grouped(n, k) : step.dense(mlp.rows, n, k);
}

void ComposedLayer::reduction(PlanBuilder::StepRef step, const Mlp& mlp, int64_t m, int64_t n) {
  if (mlp.routed) {
    step.groupedReduction(m, n);
  } else {
    step.dense(m, n, mlp.rows);
  }
}

}  // namespace moeblaze
