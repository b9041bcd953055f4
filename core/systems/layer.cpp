#include "core/systems/layer.h"

#include <algorithm>

namespace moeblaze {

Layer::Layer(PlanBuilder& b, LayerStyle style) {
  const MoeConfig& c = b.config();
  const bool gated = isGated(c.activation), routed = b.options().withRouter;
  const auto weight = [&](const char* name, Shape shape) {
    return b.external(name, Role::weight, c.dtype, Layout::weight, shape);
  };
  const auto gradient = [&](const char* name, Layout layout, Shape shape) {
    return b.buffer(name, Role::gradient, c.dtype, layout, shape);
  };
  const bool fused = style.fusedUpWeights && gated;
  const Shape up{c.experts, c.dModel, fused ? 2 * c.dFf : c.dFf};
  const Shape down{c.experts, c.dFf, c.dModel};
  const Shape tokens{c.tokens, c.dModel};
  const Shape gateShape = style.denseGates ? Shape{c.experts, c.tokens} : Shape{c.tokens, c.topK};
  const Layout gateLayout = style.denseGates ? Layout::expertTokens : Layout::slots;

  x = b.external("x", Role::input, c.dtype, Layout::tokens, tokens);
  // The router's results are given, or planned like everything else.
  topkIds =
      b.buffer("topk_ids", routed ? Role::transient : Role::input, DType::int32, Layout::flat, {c.tokens, c.topK});
  b.at(topkIds).meaning = Meaning::expertOfSlot;
  b.at(topkIds).external = !routed;
  outputGradient = b.external("dO", Role::gradient, c.dtype, Layout::tokens, tokens);
  w1 = weight(fused ? "W12" : "W1", up);
  if (gated && !fused) w2 = weight("W2", up);
  w3 = weight("W3", down);

  gates = b.buffer("gates", routed ? Role::transient : Role::input, style.gateDtype, gateLayout, gateShape);
  output = b.buffer("O", Role::output, c.dtype, Layout::tokens, tokens);
  inputGradient = gradient("dx", Layout::tokens, tokens);
  gateGradient = b.buffer("dgates", Role::gradient, style.gateDtype, gateLayout, gateShape);
  w1Gradient = gradient(fused ? "dW12" : "dW1", Layout::weight, up);
  if (gated && !fused) w2Gradient = gradient("dW2", Layout::weight, up);
  w3Gradient = gradient("dW3", Layout::weight, down);
}

RouterSteps::RouterSteps(PlanBuilder& b, const Layer& layer) : builder_(b), layer_(layer) {
  if (!b.options().withRouter) return;
  const MoeConfig& c = b.config();
  const Shape weight{c.dModel, c.experts}, perExpert{c.tokens, c.experts};
  b.at(layer.topkIds).router = true;
  weight_ = own(b.external("Wr", Role::weight, c.dtype, Layout::weight, weight));
  weightGradient_ = own(b.buffer("dWr", Role::gradient, c.dtype, Layout::weight, weight));
  if (c.router == Router::sigmoid)
    bias_ = own(b.external("router_bias", Role::input, routerDtype(), Layout::flat, {c.experts}));
  logits_ = own(b.buffer("logits", Role::transient, routerDtype(), Layout::tokens, perExpert));
  scores_ = own(b.buffer("scores", Role::transient, routerDtype(), Layout::tokens, perExpert));
}

namespace {

/// Parts that the router's weight gradient sums tokens in: its result is too small for a GPU's processors to share.
int64_t weightGradientSplits(const MoeConfig& c) {
  constexpr int64_t kTile = 64, kBlocks = 2 * 132, kLeastTokens = 256;
  const int64_t tiles = ((c.dModel + kTile - 1) / kTile) * ((c.experts + kTile - 1) / kTile);
  return std::clamp<int64_t>(kBlocks / tiles, 1, std::max<int64_t>(1, c.tokens / kLeastTokens));
}

}  // namespace

/// Routers compute in fp32 whatever the model's dtype, and in fp64 beside fp64.
DType RouterSteps::routerDtype() const { return builder_.config().dtype == DType::fp64 ? DType::fp64 : DType::fp32; }

BufferId RouterSteps::own(BufferId id) {
  builder_.at(id).router = true;
  return id;
}

void RouterSteps::forward() {
  if (!builder_.options().withRouter) return;
  const MoeConfig& c = builder_.config();
  builder_.step("router_logits", Op::denseGemm)
      .reads(layer_.x, weight_)
      .writes(logits_)
      .dense(c.tokens, c.experts, c.dModel);
  builder_.step("route", Op::route)
      .reads(logits_)
      .readsAs(Use::data, bias_)
      .writes(scores_, layer_.topkIds, layer_.gates)
      .launches(2);
}

void RouterSteps::backward() {
  if (!builder_.options().withRouter) return;
  const MoeConfig& c = builder_.config();
  const BufferId dLogits =
      own(builder_.buffer("dlogits", Role::transient, routerDtype(), Layout::tokens, {c.tokens, c.experts}));
  builder_.step("route_backward", Op::routeBackward)
      .reads(layer_.gateGradient, layer_.gates, layer_.topkIds, scores_)
      .writes(dLogits);
  const int64_t splits = weightGradientSplits(c);
  const BufferId partials =
      own(builder_.workspace("router_partial_sums", routerDtype(), {splits, c.dModel, c.experts}));
  builder_.step("router_weight_gradient", Op::weightGradient)
      .reads(layer_.x, dLogits)
      .writes(partials, weightGradient_)
      .dense(c.dModel, c.experts, c.tokens);
  builder_.step("router_input_gradient", Op::denseGemm)
      .reads(dLogits, weight_, layer_.inputGradient)
      .writes(layer_.inputGradient)
      .dense(c.tokens, c.dModel, c.experts)
      .transposed();
}

void activationForward(PlanBuilder& b, FrameworkActivation& act, const std::string& suffix) {
  const auto [layout, shape] = std::pair(b.at(act.a).layout, b.at(act.a).shape);
  act.s = b.hidden((isGated(b.config().activation) ? "S" : "Y") + suffix, layout, shape);
  b.step("activation" + suffix, Op::activation).reads(act.a).writes(act.s);
  act.y = act.s;
  // PyTorch's relu keeps its result, the others their input.
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
        .read(yGradient, 2 * b.at(yGradient).bytes)  // by each of the two products
        .reads(act.s, act.b)
        .writes(act.bGradient, sGradient)
        .launches(2);
  }
  act.aGradient = b.transient("dA" + suffix, layout, shape);
  b.step("activation_backward" + suffix, Op::activationBackward).reads(sGradient, act.kept).writes(act.aGradient);
}

}  // namespace moeblaze
