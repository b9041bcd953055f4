#include "core/systems/framework_layer.h"

#include "core/plan/buffer_names.h"

namespace moeblaze {

void activationForward(PlanBuilder& b, FrameworkActivation& act, const std::string& suffix) {
  const auto [layout, shape] = std::pair(b.at(act.a).layout, b.at(act.a).shape);
  act.s = b.hidden((isGated(b.config().activation) ? "S" : "Y") + suffix, layout, shape);
  b.step("activation" + suffix, Op::activation).reads(act.a).writes(act.s);
  act.y = act.s;
  // PyTorch's relu keeps its result for backward, the other activations keep their input.
  act.kept = b.config().activation == Activation::relu ? act.s : act.a;
  if (act.b == BufferId::none) return;
  act.y = b.hidden("Y" + suffix, layout, shape);
  b.step("multiply" + suffix, Op::multiply).reads(act.s, act.b).writes(act.y);
}

void activationBackward(PlanBuilder& b, FrameworkActivation& act, BufferId yGradient, const std::string& suffix) {
  const auto [layout, shape] = std::pair(b.at(act.a).layout, b.at(act.a).shape);
  BufferId sGradient = yGradient;
  if (act.b != BufferId::none) {
    act.bGradient = b.transient("dB" + suffix, layout, shape);
    sGradient = b.transient("dS" + suffix, layout, shape);
    b.step("multiply_backward" + suffix, Op::multiplyBackward)
        .read(yGradient, 2 * b.at(yGradient).bytes)  // each of the two products reads it
        .reads(act.s, act.b)
        .writes(act.bGradient, sGradient)
        .launches(2);
  }
  act.aGradient = b.transient("dA" + suffix, layout, shape);
  b.step("activation_backward" + suffix, Op::activationBackward).reads(sGradient, act.kept).writes(act.aGradient);
}

namespace {

const std::string kShared(buffer_names::kSharedSuffix);

}  // namespace

FrameworkSharedExperts::FrameworkSharedExperts(PlanBuilder& b, const Layer& layer)
    : builder_(b), layer_(layer), weights_(b) {}

void FrameworkSharedExperts::forward() {
  if (weights_.width == 0) return;
  PlanBuilder& b = builder_;
  const int64_t tokens = b.config().tokens, d = b.config().dModel;
  const auto project = [&](const char* name, BufferId weight) {
    const BufferId out = b.hidden(name + kShared, Layout::tokens, {tokens, weights_.width});
    b.step(std::string("up_") + name + kShared, Op::denseGemm)
        .reads(layer_.x, weight)
        .writes(out)
        .dense(tokens, weights_.width, d);
    return out;
  };
  act_.a = project("A", weights_.w1);
  if (isGated(b.config().activation)) act_.b = project("B", weights_.w2);
  activationForward(b, act_, kShared);
  const BufferId out = b.transient(buffer_names::sharedOf(buffer_names::kOutput), Layout::tokens, {tokens, d});
  b.step("down" + kShared, Op::denseGemm).reads(act_.y, weights_.w3).writes(out).dense(tokens, d, weights_.width);
  b.step("add" + kShared, Op::add).reads(out, layer_.output).writes(layer_.output);
}

void FrameworkSharedExperts::backward() {
  if (weights_.width == 0) return;
  PlanBuilder& b = builder_;
  const int64_t tokens = b.config().tokens, d = b.config().dModel;
  const BufferId yGradient = b.transient("dY" + kShared, Layout::tokens, {tokens, weights_.width});
  b.step("down_input_gradient" + kShared, Op::denseGemm)
      .reads(layer_.outputGradient, weights_.w3)
      .writes(yGradient)
      .dense(tokens, weights_.width, d)
      .transposed();
  b.step("down_weight_gradient" + kShared, Op::weightGradient)
      .reads(act_.y, layer_.outputGradient)
      .writes(weights_.w3Gradient)
      .dense(weights_.width, d, tokens);
  activationBackward(b, act_, yGradient, kShared);
  const auto project = [&](const char* name, BufferId gradient, BufferId weight, BufferId weightGradient,
                           BufferId out) {
    b.step(std::string("up_input_gradient_") + name + kShared, Op::denseGemm)
        .reads(gradient, weight)
        .writes(out)
        .dense(tokens, d, weights_.width)
        .transposed();
    b.step(std::string("up_weight_gradient_") + name + kShared, Op::weightGradient)
        .reads(layer_.x, gradient)
        .writes(weightGradient)
        .dense(d, weights_.width, tokens);
  };
  if (act_.b == BufferId::none) {
    project("A", act_.aGradient, weights_.w1, weights_.w1Gradient, layer_.inputGradient);
    return;
  }
  project("B", act_.bGradient, weights_.w2, weights_.w2Gradient, layer_.inputGradient);
  const BufferId second = b.transient("dx_A" + kShared, Layout::tokens, {tokens, d});
  project("A", act_.aGradient, weights_.w1, weights_.w1Gradient, second);
  addRouted(second);
}

BufferId FrameworkSharedExperts::routedInputGradient() {
  if (weights_.width == 0) return layer_.inputGradient;
  return builder_.transient("dx_routed", Layout::tokens, {builder_.config().tokens, builder_.config().dModel});
}

void FrameworkSharedExperts::addRouted(BufferId routed) {
  if (routed == layer_.inputGradient) return;
  builder_.step("add_input_gradient", Op::add).reads(routed, layer_.inputGradient).writes(layer_.inputGradient);
}

FrameworkLayer::FrameworkLayer(PlanBuilder& builder, LayerStyle style)
    : builder_(builder),
      config_(builder.config()),
      rows_(builder.rows()),
      layer_(builder, style),
      router_(builder, layer_),
      shared_(builder, layer_) {}

void FrameworkLayer::gatherRows(std::string name, BufferId tokens, const std::vector<BufferId>& addressing,
                                BufferId out, BufferId gates) {
  builder_.step(std::move(name), Op::gather)
      .readsRows(tokens, rows_)
      .readsAll(addressing)
      .readsAs(Use::gates, gates)
      .writes(out);
}

}  // namespace moeblaze
