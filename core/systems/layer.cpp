#include "core/systems/layer.h"

#include <algorithm>
#include <cmath>

#include "core/plan/buffer_names.h"

namespace moeblaze {

namespace names = buffer_names;

Layer::Layer(PlanBuilder& b, LayerStyle style) {
  const MoeConfig& c = b.config();
  const bool gated = isGated(c.activation);
  const bool planned = b.options().withRouter;  // the router's results are given to the layer unless it is planned
  const Role routed = planned ? Role::transient : Role::input;
  const auto weight = [&](std::string_view name, Shape shape) {
    return b.external(std::string(name), Role::weight, c.dtype, Layout::weight, shape);
  };
  const auto gradient = [&](std::string name, Layout layout, Shape shape) {
    return b.buffer(std::move(name), Role::gradient, c.dtype, layout, shape);
  };
  const bool fused = style.fusedUpWeights && gated;
  const Shape up{c.experts, c.dModel, fused ? 2 * c.dFf : c.dFf};
  const Shape down{c.experts, c.dFf, c.dModel};
  const Shape tokens{c.tokens, c.dModel};
  const Shape gateShape = style.denseGates ? Shape{c.experts, c.tokens} : Shape{c.tokens, c.topK};
  const Layout gateLayout = style.denseGates ? Layout::expertTokens : Layout::slots;

  x = b.external(std::string(names::kInput), Role::input, c.dtype, Layout::tokens, tokens);
  topkIds = b.buffer(std::string(names::kTopkIds), routed, DType::int32, Layout::flat, {c.tokens, c.topK});
  b.at(topkIds).meaning = Meaning::expertOfSlot;
  b.at(topkIds).external = !planned;
  outputGradient = b.external(std::string(names::kOutputGradient), Role::gradient, c.dtype, Layout::tokens, tokens);
  const std::string_view first = fused ? names::kW12 : names::kW1;
  w1 = weight(first, up);
  if (gated && !fused) w2 = weight(names::kW2, up);
  w3 = weight(names::kW3, down);

  gates = b.buffer(std::string(names::kGates), routed, style.gateDtype, gateLayout, gateShape);
  output = b.buffer(std::string(names::kOutput), Role::output, c.dtype, Layout::tokens, tokens);
  inputGradient = gradient(std::string(names::kInputGradient), Layout::tokens, tokens);
  gateGradient = b.buffer(std::string(names::kGateGradient), Role::gradient, style.gateDtype, gateLayout, gateShape);
  w1Gradient = gradient(names::gradientOf(first), Layout::weight, up);
  if (gated && !fused) w2Gradient = gradient(names::gradientOf(names::kW2), Layout::weight, up);
  w3Gradient = gradient(names::gradientOf(names::kW3), Layout::weight, down);
}

DType wideDtype(const MoeConfig& config) { return config.dtype == DType::fp64 ? DType::fp64 : DType::fp32; }

RouterSteps::RouterSteps(PlanBuilder& b, const Layer& layer) : builder_(b), layer_(layer) {
  const MoeConfig& c = b.config();
  const DType wide = wideDtype(c);
  const Shape weight{c.dModel, c.experts}, perExpert{c.tokens, c.experts};
  // Of its own tensors backward reads the scores alone.
  b.setRouterNeeds({perExpert.count() * sizeOf(wide), {layer.x, layer.topkIds, layer.gates}});
  if (!b.options().withRouter) return;
  b.at(layer.topkIds).router = true;
  weight_ = own(b.external(std::string(names::kRouterWeight), Role::weight, c.dtype, Layout::weight, weight));
  weightGradient_ =
      own(b.buffer(names::gradientOf(names::kRouterWeight), Role::gradient, c.dtype, Layout::weight, weight));
  if (c.router == Router::sigmoid)
    bias_ = own(b.external(std::string(names::kRouterBias), Role::input, wide, Layout::flat, {c.experts}));
  logits_ = own(b.buffer("logits", Role::transient, wide, Layout::tokens, perExpert));
  scores_ = own(b.buffer(std::string(names::kRouterScores), Role::transient, wide, Layout::tokens, perExpert));
}

namespace {

/// Into how many partial sums over tokens the router's weight gradient is divided. The gradient itself has too few
/// tiles to keep every processor of a GPU busy.
int64_t weightGradientSplits(const MoeConfig& c) {
  constexpr int64_t kTile = 64, kBlocks = int64_t{2} * 132, kMinTokens = 256;
  const int64_t tiles = ((c.dModel + kTile - 1) / kTile) * ((c.experts + kTile - 1) / kTile);
  return std::clamp<int64_t>(kBlocks / tiles, 1, std::max<int64_t>(1, c.tokens / kMinTokens));
}

}  // namespace

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
      .dense(c.tokens, c.experts, c.dModel)
      .ofRouter();
  builder_.step("route", Op::route)
      .reads(logits_)
      .readsAs(Use::data, bias_)
      .writes(scores_, layer_.topkIds, layer_.gates)
      .launches(2)
      .ofRouter();
}

void RouterSteps::backward() {
  if (!builder_.options().withRouter) return;
  const MoeConfig& c = builder_.config();
  const BufferId dLogits =
      own(builder_.buffer("dlogits", Role::transient, wideDtype(c), Layout::tokens, {c.tokens, c.experts}));
  builder_.step("route_backward", Op::routeBackward)
      .reads(layer_.gateGradient, layer_.gates, layer_.topkIds, scores_)
      .writes(dLogits)
      .ofRouter();
  const int64_t splits = weightGradientSplits(c);
  const BufferId partials = own(builder_.workspace("router_partial_sums", wideDtype(c), {splits, c.dModel, c.experts}));
  builder_.step("router_weight_gradient", Op::weightGradient)
      .reads(layer_.x, dLogits)
      .writes(partials, weightGradient_)
      .dense(c.dModel, c.experts, c.tokens)
      .ofRouter();
  builder_.step("router_input_gradient", Op::denseGemm)
      .reads(dLogits, weight_, layer_.inputGradient)
      .writes(layer_.inputGradient)
      .dense(c.tokens, c.dModel, c.experts)
      .transposed()
      .ofRouter();
}

SharedWeights::SharedWeights(PlanBuilder& b) : width(b.config().sharedWidth()) {
  if (width == 0) return;
  const MoeConfig& c = b.config();
  const auto declare = [&](std::string_view routed, BufferId& weight, BufferId& gradient, Shape shape) {
    const std::string name = names::sharedOf(routed);
    weight = b.external(name, Role::weight, c.dtype, Layout::weight, shape);
    gradient = b.buffer(names::gradientOf(name), Role::gradient, c.dtype, Layout::weight, shape);
  };
  declare(names::kW1, w1, w1Gradient, {c.dModel, width});
  if (isGated(c.activation)) declare(names::kW2, w2, w2Gradient, {c.dModel, width});
  declare(names::kW3, w3, w3Gradient, {width, c.dModel});
}

int64_t expertCapacity(const MoeConfig& config, double capacity) {
  const double mean = static_cast<double>(config.rows()) / static_cast<double>(config.experts);
  return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(capacity * mean)), 1, config.tokens);
}

}  // namespace moeblaze
