#include "core/systems/layer.h"

namespace moeblaze {

Layer::Layer(PlanBuilder& b, LayerStyle style) {
  const MoeConfig& c = b.config();
  const bool gated = isGated(c.activation);
  const auto weight = [&](const char* name, Shape shape) { return b.external(name, Role::weight, c.dtype, shape); };
  const auto gradient = [&](const char* name, Shape shape) { return b.buffer(name, Role::gradient, c.dtype, shape); };
  const Shape up =
      style.fusedUpWeights ? Shape{c.experts, c.dModel, c.upProjections() * c.dFf} : Shape{c.experts, c.dModel, c.dFf};
  const Shape down{c.experts, c.dFf, c.dModel};
  const Shape gateShape = style.denseGates ? Shape{c.experts, c.tokens} : Shape{c.tokens, c.topK};
  const bool fused = style.fusedUpWeights && gated;

  x = b.external("x", Role::input, c.dtype, {c.tokens, c.dModel});
  // The router's results are given, or planned like everything else.
  topkIds = b.options().withRouter ? b.buffer("topk_ids", Role::transient, DType::int32, {c.tokens, c.topK})
                                   : b.external("topk_ids", Role::input, DType::int32, {c.tokens, c.topK});
  outputGradient = b.external("dO", Role::gradient, c.dtype, {c.tokens, c.dModel});
  w1 = weight(fused ? "W12" : "W1", up);
  if (gated && !fused) w2 = weight("W2", up);
  w3 = weight("W3", down);

  gates = b.buffer("gates", b.options().withRouter ? Role::transient : Role::input, style.gateDtype, gateShape);
  output = b.buffer("O", Role::output, c.dtype, {c.tokens, c.dModel});
  inputGradient = gradient("dx", {c.tokens, c.dModel});
  gateGradient = b.buffer("dgates", Role::gradient, style.gateDtype, gateShape);
  w1Gradient = gradient(fused ? "dW12" : "dW1", up);
  if (gated && !fused) w2Gradient = gradient("dW2", up);
  w3Gradient = gradient("dW3", down);
}

RouterSteps::RouterSteps(PlanBuilder& b, const Layer& layer) : builder_(b), layer_(layer) {
  if (!b.options().withRouter) return;
  const MoeConfig& c = b.config();
  own(layer.topkIds);
  weight_ = own(b.external("Wr", Role::weight, c.dtype, {c.dModel, c.experts}));
  weightGradient_ = own(b.buffer("dWr", Role::gradient, c.dtype, {c.dModel, c.experts}));
  logits_ = own(b.buffer("logits", Role::transient, DType::fp32, {c.tokens, c.experts}));
  scores_ = own(b.buffer("scores", Role::transient, DType::fp32, {c.tokens, c.experts}));
}

BufferId RouterSteps::own(BufferId id) {
  builder_.markRouter(id);
  return id;
}

void RouterSteps::forward() {
  if (!builder_.options().withRouter) return;
  const MoeConfig& c = builder_.config();
  builder_.step("router_logits", Op::denseGemm)
      .reads(layer_.x, weight_)
      .writes(logits_)
      .dense(c.tokens, c.experts, c.dModel);
  builder_.step("route", Op::route).reads(logits_).writes(scores_, layer_.topkIds, layer_.gates).launches(2);
}

void RouterSteps::backward() {
  if (!builder_.options().withRouter) return;
  const MoeConfig& c = builder_.config();
  const BufferId dLogits = own(builder_.buffer("dlogits", Role::transient, DType::fp32, {c.tokens, c.experts}));
  builder_.step("route_backward", Op::route)
      .reads(layer_.gateGradient, layer_.gates, layer_.topkIds, scores_)
      .writes(dLogits);
  builder_.step("router_weight_gradient", Op::denseGemm)
      .reads(layer_.x, dLogits)
      .writes(weightGradient_)
      .dense(c.dModel, c.experts, c.tokens);
  builder_.step("router_input_gradient", Op::denseGemm)
      .reads(dLogits, weight_, layer_.inputGradient)
      .writes(layer_.inputGradient)
      .dense(c.tokens, c.dModel, c.experts);
}

void activationForward(PlanBuilder& b, FrameworkActivation& act, int64_t rows, int64_t width,
                       const std::string& suffix) {
  act.s = b.hidden((isGated(b.config().activation) ? "S" : "Y") + suffix, {rows, width});
  b.step("activation" + suffix, Op::activation).reads(act.a).writes(act.s);
  act.y = act.s;
  // PyTorch's relu keeps its result, the others their input.
  act.kept = b.config().activation == Activation::relu ? act.s : act.a;
  if (act.b == BufferId::none) return;
  act.y = b.hidden("Y" + suffix, {rows, width});
  b.step("multiply" + suffix, Op::multiply).reads(act.s, act.b).writes(act.y);
}

void activationBackward(PlanBuilder& b, FrameworkActivation& act, BufferId yGradient, int64_t rows, int64_t width,
                        const std::string& suffix) {
  BufferId sGradient = yGradient;
  if (act.b != BufferId::none) {
    act.bGradient = b.transient("dB" + suffix, {rows, width});
    sGradient = b.transient("dS" + suffix, {rows, width});
    b.step("multiply_backward" + suffix, Op::multiplyBackward)
        .read(yGradient, 2 * b.at(yGradient).bytes)  // by each of the two products
        .reads(act.s, act.b)
        .writes(act.bGradient, sGradient)
        .launches(2);
  }
  act.aGradient = b.transient("dA" + suffix, {rows, width});
  b.step("activation_backward" + suffix, Op::activationBackward).reads(sGradient, act.kept).writes(act.aGradient);
}

}  // namespace moeblaze
