#include "core/systems/layer.h"

namespace moeblaze {

FrameworkSharedExperts::FrameworkSharedExperts(PlanBuilder& b, const Layer& layer)
    : builder_(b), layer_(layer), width_(b.config().sharedWidth()) {
  if (width_ == 0) return;
  const MoeConfig& c = b.config();
  const auto declare = [&](const std::string& name, BufferId& weight, BufferId& gradient, Shape shape) {
    weight = b.external(name, Role::weight, c.dtype, shape);
    gradient = b.buffer("d" + name, Role::gradient, c.dtype, shape);
  };
  declare("W1.shared", w1_, w1Gradient_, {c.dModel, width_});
  if (isGated(c.activation)) declare("W2.shared", w2_, w2Gradient_, {c.dModel, width_});
  declare("W3.shared", w3_, w3Gradient_, {width_, c.dModel});
}

void FrameworkSharedExperts::forward() {
  if (width_ == 0) return;
  PlanBuilder& b = builder_;
  const auto [tokens, d] = std::pair(b.config().tokens, b.config().dModel);
  const auto project = [&](const char* name, BufferId weight) {
    const BufferId out = b.hidden(std::string(name) + ".shared", {tokens, width_});
    b.step(std::string("up_") + name + ".shared", Op::denseGemm)
        .reads(layer_.x, weight)
        .writes(out)
        .dense(tokens, width_, d);
    return out;
  };
  act_.a = project("A", w1_);
  if (isGated(b.config().activation)) act_.b = project("B", w2_);
  activationForward(b, act_, tokens, width_, ".shared");
  const BufferId out = b.transient("O.shared", {tokens, d});
  b.step("down.shared", Op::denseGemm).reads(act_.y, w3_).writes(out).dense(tokens, d, width_);
  b.step("add.shared", Op::add).reads(out, layer_.output).writes(layer_.output);
}

void FrameworkSharedExperts::backward() {
  if (width_ == 0) return;
  PlanBuilder& b = builder_;
  const auto [tokens, d] = std::pair(b.config().tokens, b.config().dModel);
  const BufferId yGradient = b.transient("dY.shared", {tokens, width_});
  b.step("down_input_gradient.shared", Op::denseGemm)
      .reads(layer_.outputGradient, w3_)
      .writes(yGradient)
      .dense(tokens, width_, d);
  b.step("down_weight_gradient.shared", Op::denseGemm)
      .reads(act_.y, layer_.outputGradient)
      .writes(w3Gradient_)
      .dense(width_, d, tokens);
  activationBackward(b, act_, yGradient, tokens, width_, ".shared");
  const auto project = [&](const char* name, BufferId gradient, BufferId weight, BufferId weightGradient,
                           BufferId out) {
    b.step(std::string("up_input_gradient_") + name, Op::denseGemm)
        .reads(gradient, weight)
        .writes(out)
        .dense(tokens, d, width_);
    b.step(std::string("up_weight_gradient_") + name, Op::denseGemm)
        .reads(layer_.x, gradient)
        .writes(weightGradient)
        .dense(d, width_, tokens);
  };
  if (act_.b == BufferId::none) {
    project("A.shared", act_.aGradient, w1_, w1Gradient_, layer_.inputGradient);
    return;
  }
  project("B.shared", act_.bGradient, w2_, w2Gradient_, layer_.inputGradient);
  const BufferId second = b.transient("dx_A.shared", {tokens, d});
  project("A.shared", act_.aGradient, w1_, w1Gradient_, second);
  addRouted(second);
}

BufferId FrameworkSharedExperts::routedInputGradient() {
  if (width_ == 0) return layer_.inputGradient;
  return builder_.transient("dx_routed", {builder_.config().tokens, builder_.config().dModel});
}

void FrameworkSharedExperts::addRouted(BufferId routed) {
  if (routed == layer_.inputGradient) return;
  builder_.step("add_input_gradient", Op::add).reads(routed, layer_.inputGradient).writes(layer_.inputGradient);
}

}  // namespace moeblaze
