#include "core/systems/layer.h"

namespace moeblaze {

SharedWeights::SharedWeights(PlanBuilder& b) : width(b.config().sharedWidth()) {
  if (width == 0) return;
  const MoeConfig& c = b.config();
  const auto declare = [&](const std::string& name, BufferId& weight, BufferId& gradient, Shape shape) {
    weight = b.external(name, Role::weight, c.dtype, Layout::weight, shape);
    gradient = b.buffer("d" + name, Role::gradient, c.dtype, Layout::weight, shape);
  };
  declare("W1.shared", w1, w1Gradient, {c.dModel, width});
  if (isGated(c.activation)) declare("W2.shared", w2, w2Gradient, {c.dModel, width});
  declare("W3.shared", w3, w3Gradient, {width, c.dModel});
}

FrameworkSharedExperts::FrameworkSharedExperts(PlanBuilder& b, const Layer& layer)
    : builder_(b), layer_(layer), weights_(b) {}

FrameworkLayer::FrameworkLayer(PlanBuilder& builder, LayerStyle style)
    : b(builder), c(b.config()), rows(b.rows()), layer(b, style), router(b, layer), shared(b, layer) {}

void FrameworkSharedExperts::forward() {
  if (weights_.width == 0) return;
  PlanBuilder& b = builder_;
  const int64_t tokens = b.config().tokens, d = b.config().dModel;
  const auto project = [&](const char* name, BufferId weight) {
    const BufferId out = b.hidden(std::string(name) + ".shared", Layout::tokens, {tokens, weights_.width});
    b.step(std::string("up_") + name + ".shared", Op::denseGemm)
        .reads(layer_.x, weight)
        .writes(out)
        .dense(tokens, weights_.width, d);
    return out;
  };
  act_.a = project("A", weights_.w1);
  if (isGated(b.config().activation)) act_.b = project("B", weights_.w2);
  activationForward(b, act_, ".shared");
  const BufferId out = b.transient("O.shared", Layout::tokens, {tokens, d});
  b.step("down.shared", Op::denseGemm).reads(act_.y, weights_.w3).writes(out).dense(tokens, d, weights_.width);
  b.step("add.shared", Op::add).reads(out, layer_.output).writes(layer_.output);
}

void FrameworkSharedExperts::backward() {
  if (weights_.width == 0) return;
  PlanBuilder& b = builder_;
  const int64_t tokens = b.config().tokens, d = b.config().dModel;
  const BufferId yGradient = b.transient("dY.shared", Layout::tokens, {tokens, weights_.width});
  b.step("down_input_gradient.shared", Op::denseGemm)
      .reads(layer_.outputGradient, weights_.w3)
      .writes(yGradient)
      .dense(tokens, weights_.width, d)
      .transposed();
  b.step("down_weight_gradient.shared", Op::weightGradient)
      .reads(act_.y, layer_.outputGradient)
      .writes(weights_.w3Gradient)
      .dense(weights_.width, d, tokens);
  activationBackward(b, act_, yGradient, ".shared");
  const auto project = [&](const char* name, BufferId gradient, BufferId weight, BufferId weightGradient,
                           BufferId out) {
    b.step(std::string("up_input_gradient_") + name, Op::denseGemm)
        .reads(gradient, weight)
        .writes(out)
        .dense(tokens, d, weights_.width)
        .transposed();
    b.step(std::string("up_weight_gradient_") + name, Op::weightGradient)
        .reads(layer_.x, gradient)
        .writes(weightGradient)
        .dense(d, weights_.width, tokens);
  };
  if (act_.b == BufferId::none) {
    project("A.shared", act_.aGradient, weights_.w1, weights_.w1Gradient, layer_.inputGradient);
    return;
  }
  project("B.shared", act_.bGradient, weights_.w2, weights_.w2Gradient, layer_.inputGradient);
  const BufferId second = b.transient("dx_A.shared", Layout::tokens, {tokens, d});
  project("A.shared", act_.aGradient, weights_.w1, weights_.w1Gradient, second);
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

}  // namespace moeblaze
