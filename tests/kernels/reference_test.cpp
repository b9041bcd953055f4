#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "kernels/layer/layer_data.h"

namespace moeblaze {
namespace {

using testing::DoubleNear;
using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::Pointwise;

/// No two sizes are alike, so that a wrong layout or stride shows.
MoeConfig smallConfig(Activation activation = Activation::swiglu) {
  return {.dModel = 4,
          .dFf = 3,
          .experts = 6,
          .topK = 2,
          .tokens = 5,
          .activation = activation,
          .dtype = DType::fp64,
          .gateDtype = DType::fp64,
          .sharedExperts = 2,
          .sharedDFf = 7};
}

MoeConfig routerConfig(Router router, bool renormalize) {
  MoeConfig config = smallConfig();
  config.topK = 3;
  config.router = router;
  config.renormalize = renormalize;
  return config;
}

LayerInputs inputsOf(const MoeConfig& config, bool withRouter = false) {
  return makeInputs(config, Routing::balanced(config), 1, withRouter);
}

/// One row through one MLP, computed index by index.
std::vector<double> mlp(Activation activation, const double* x, const double* w1, const double* w2, const double* w3,
                        int64_t width, int64_t hidden) {
  std::vector<double> y(static_cast<size_t>(width));
  for (int64_t i = 0; i < hidden; ++i) {
    double a = 0;
    double b = isGated(activation) ? 0 : 1;
    for (int64_t j = 0; j < width; ++j) {
      a += x[j] * w1[j * hidden + i];
      if (isGated(activation)) b += x[j] * w2[j * hidden + i];
    }
    for (int64_t j = 0; j < width; ++j) y[j] += activate(activation, a) * b * w3[i * width + j];
  }
  return y;
}

/// The loss whose gradients the layer computes: the inner product of output and outputGradient. With a router, the
/// gates are computed anew.
double loss(LayerInputs inputs) {
  if (!inputs.routerWeight.empty()) {
    const std::vector<int32_t> chosen = inputs.topkIds;
    referenceRoute(inputs.config, inputs.x, inputs.routerWeight, inputs.routerBias, inputs.topkIds, inputs.gates);
    EXPECT_EQ(inputs.topkIds, chosen) << "differences across another choice say nothing";
  }
  const std::vector<double> output = referenceLayer(inputs).output;
  return std::inner_product(output.begin(), output.end(), inputs.outputGradient.begin(), 0.0);
}

using Tensor = std::vector<double>;

void expectGradient(const LayerInputs& inputs, Tensor LayerInputs::*tensor, const Tensor& gradient, const char* what) {
  constexpr double kStep = 1e-5;
  LayerInputs moved = inputs;
  Tensor differences;
  for (double& value : moved.*tensor) {
    const double before = value;
    value = before + kStep;
    const double above = loss(moved);
    value = before - kStep;
    differences.push_back((above - loss(moved)) / (2 * kStep));
    value = before;
  }
  ASSERT_EQ(gradient.size(), differences.size()) << what;
  EXPECT_LT(normRatio(gradient, differences), 1e-7) << what;
}

void expectGradients(const LayerInputs& inputs) {
  const LayerResults results = referenceLayer(inputs);
  expectGradient(inputs, &LayerInputs::x, results.x, "x");
  expectGradient(inputs, &LayerInputs::w1, results.w1, "w1");
  expectGradient(inputs, &LayerInputs::w2, results.w2, "w2");
  expectGradient(inputs, &LayerInputs::w3, results.w3, "w3");
  expectGradient(inputs, &LayerInputs::sharedW1, results.sharedW1, "shared w1");
  expectGradient(inputs, &LayerInputs::sharedW2, results.sharedW2, "shared w2");
  expectGradient(inputs, &LayerInputs::sharedW3, results.sharedW3, "shared w3");
  expectGradient(inputs, &LayerInputs::routerWeight, results.routerWeight, "router weight");
  LayerInputs given = inputs;  // without the router's weight, `loss` takes the gates as they are
  given.routerWeight.clear();
  expectGradient(given, &LayerInputs::gates, results.gates, "gates");
}

TEST(Activation, ValuesAndSlopes) {
  EXPECT_EQ(activate(Activation::relu, -2), 0);
  EXPECT_EQ(activate(Activation::relu, 2), 2);
  EXPECT_DOUBLE_EQ(activate(Activation::silu, 1), 0.73105857863000490);
  EXPECT_DOUBLE_EQ(activate(Activation::swiglu, -1), -0.26894142136999510);
  EXPECT_DOUBLE_EQ(activate(Activation::gelu, 1), 0.84134474606854293);
  EXPECT_DOUBLE_EQ(activate(Activation::geglu, -1), -0.15865525393145707);
  for (Activation activation : kActivations) {
    for (double a : {-20.0, -1.3, -0.1, 0.2, 1.7, 20.0}) {
      const double slope = (activate(activation, a + 1e-5) - activate(activation, a - 1e-5)) / 2e-5;
      EXPECT_NEAR(activateDerivative(activation, a), slope, 1e-9) << name(activation) << " at " << a;
    }
    EXPECT_EQ(activate(activation, -1000), 0);
    EXPECT_EQ(activate(activation, 1000), 1000);
  }
}

TEST(ReferenceLayer, OneTokenByHand) {
  LayerInputs inputs;
  inputs.config = smallConfig(Activation::relu);
  inputs.config.tokens = inputs.config.dFf = inputs.config.sharedExperts = inputs.config.sharedDFf = 1;
  inputs.config.dModel = inputs.config.experts = 2;
  inputs.topkIds = {1, 0};
  inputs.gates = {0.25, 0.5};
  inputs.x = {1, 2};
  inputs.w1 = {1, 1, 1, -1};  // expert 0: A = 3; expert 1: A = -1, which relu stops
  inputs.w3 = {2, -1, 5, 5};
  inputs.sharedW1 = {0, 1};  // A = 2
  inputs.sharedW3 = {1, 1};
  inputs.outputGradient = {1, 1};
  const LayerResults results = referenceLayer(inputs);
  EXPECT_THAT(results.output, ElementsAre(0.5 * 6 + 2, 0.5 * -3 + 2));
  EXPECT_THAT(results.gates, ElementsAre(0, 6 - 3));
  EXPECT_THAT(results.w3, ElementsAre(1.5, 1.5, 0, 0));
  EXPECT_THAT(results.w1, ElementsAre(0.5, 1, 0, 0));
  EXPECT_THAT(results.sharedW3, ElementsAre(2, 2));
  EXPECT_THAT(results.sharedW1, ElementsAre(2, 4));
  EXPECT_THAT(results.x, ElementsAre(0.5, 0.5 + 2));
  EXPECT_THAT(results.w2, ElementsAre());
  EXPECT_THAT(results.routerWeight, ElementsAre());
}

class ReferenceLayerOf : public testing::TestWithParam<Activation> {};
INSTANTIATE_TEST_SUITE_P(Every, ReferenceLayerOf, testing::ValuesIn(kActivations),
                         [](const auto& param) { return std::string(name(param.param)); });

TEST_P(ReferenceLayerOf, OutputIsTheDefinition) {
  const MoeConfig config = smallConfig(GetParam());
  const LayerInputs in = inputsOf(config);
  const int64_t d = config.dModel;
  const int64_t h = config.dFf;
  std::vector<double> expected(in.x.size());
  const auto add = [&](int64_t token, double gate, const std::vector<double>& y) {
    for (int64_t j = 0; j < d; ++j) expected[token * d + j] += gate * y[j];
  };
  for (int64_t slot = 0; slot < config.rows(); ++slot) {
    const int64_t token = slot / config.topK;
    const int64_t first = in.topkIds[slot] * d * h;
    add(token, in.gates[slot],
        mlp(GetParam(), &in.x[token * d], &in.w1[first], in.w2.data() + (in.w2.empty() ? 0 : first), &in.w3[first], d,
            h));
  }
  for (int64_t token = 0; token < config.tokens; ++token) {
    add(token, 1,
        mlp(GetParam(), &in.x[token * d], in.sharedW1.data(), in.sharedW2.data(), in.sharedW3.data(), d,
            config.sharedWidth()));
  }
  EXPECT_THAT(referenceLayer(in).output, Pointwise(testing::DoubleNear(1e-13), expected));
}

TEST_P(ReferenceLayerOf, GradientsAreDifferences) {
  MoeConfig config = smallConfig(GetParam());
  expectGradients(inputsOf(config));
  config.sharedExperts = config.sharedDFf = 0;
  expectGradients(inputsOf(config));
}

TEST(ReferenceLayer, GradientsThroughEveryRouter) {
  for (Router router : kRouters) {
    for (bool renormalize : {false, true}) {
      SCOPED_TRACE(testing::Message() << name(router) << (renormalize ? ", renormalized" : ""));
      const LayerInputs inputs = inputsOf(routerConfig(router, renormalize), true);
      const LayerResults results = referenceLayer(inputs);
      expectGradient(inputs, &LayerInputs::x, results.x, "x");
      expectGradient(inputs, &LayerInputs::routerWeight, results.routerWeight, "router weight");
      expectGradient(inputs, &LayerInputs::w3, results.w3, "w3");
    }
  }
}

TEST(ReferenceLayer, DroppedSlotsTakeNoPart) {
  LayerInputs inputs = inputsOf(routerConfig(Router::softmaxTopk, true), true);
  inputs.kept.assign(inputs.gates.size(), 1);
  for (size_t slot : {0, 4, 12, 13, 14}) inputs.kept[slot] = 0;  // the last token keeps no slot
  expectGradients(inputs);
  const LayerResults results = referenceLayer(inputs);
  LayerInputs without = inputs;
  without.kept.clear();
  EXPECT_NE(results.output, referenceLayer(without).output);
  for (size_t slot : {0, 4, 12, 13, 14}) {
    EXPECT_EQ(results.gates[slot], 0);
    without.gates[slot] = 0;
    inputs.gates[slot] = std::nan("");  // must not be read
  }
  EXPECT_THAT(referenceLayer(inputs).output, ElementsAreArray(referenceLayer(without).output));
}

/// The gates and ids of one token with these logits.
std::pair<Tensor, std::vector<int32_t>> route(Router router, bool renormalize, const Tensor& logits,
                                              const Tensor& bias = {}) {
  MoeConfig config = routerConfig(router, renormalize);
  config.tokens = config.dModel = 1;
  config.experts = std::ssize(logits);
  config.topK = 2;
  std::vector<int32_t> ids;
  Tensor gates;
  referenceRoute(config, {1}, logits, bias, ids, gates);
  return {gates, ids};
}

TEST(ReferenceRoute, GatesOfEachKind) {
  const Tensor logits{0, std::log(2), std::log(5)};  // softmax 1/8, 2/8, 5/8; sigmoid 1/2, 2/3, 5/6
  const auto gates = [&](Router router, bool renormalize) { return route(router, renormalize, logits).first; };
  const auto near = [](double a, double b) { return ElementsAre(DoubleNear(a, 1e-15), DoubleNear(b, 1e-15)); };
  EXPECT_THAT(gates(Router::softmaxTopk, false), near(5 / 8.0, 2 / 8.0));
  EXPECT_THAT(gates(Router::softmaxTopk, true), near(5 / 7.0, 2 / 7.0));
  EXPECT_THAT(gates(Router::topkSoftmax, false), near(5 / 7.0, 2 / 7.0));
  EXPECT_THAT(gates(Router::topkSoftmax, true), near(5 / 7.0, 2 / 7.0));
  EXPECT_THAT(gates(Router::sigmoid, false), near(5 / 6.0, 2 / 3.0));
  EXPECT_THAT(gates(Router::sigmoid, true), near(5 / 9.0, 4 / 9.0));
  EXPECT_THAT(route(Router::softmaxTopk, false, logits).second, ElementsAre(2, 1));
  EXPECT_THAT(route(Router::softmaxTopk, false, {1000, 0, 1000}).first, ElementsAre(0.5, 0.5));
}

TEST(ReferenceRoute, BiasMovesTheChoiceOnly) {
  const auto [gates, ids] = route(Router::sigmoid, false, {0, std::log(2), std::log(5)}, {0.4, 0, 0});
  EXPECT_THAT(ids, ElementsAre(0, 2));
  EXPECT_THAT(gates, ElementsAre(0.5, DoubleNear(5 / 6.0, 1e-15)));
}

TEST(ReferenceRoute, TiesGoToTheLowerId) {
  for (Router router : kRouters) {
    EXPECT_THAT(route(router, true, {1, 2, 1, 2, 2}).second, ElementsAre(1, 3)) << name(router);
    EXPECT_THAT(route(router, true, Tensor(40, 0.5)).second, ElementsAre(0, 1)) << name(router);
    EXPECT_THAT(route(router, true, {0, 0, 0, 3}).second, ElementsAre(3, 0)) << name(router);
  }
}

const std::vector<Tensor LayerInputs::*> kTensors{&LayerInputs::x,          &LayerInputs::w1,
                                                  &LayerInputs::w2,         &LayerInputs::w3,
                                                  &LayerInputs::sharedW1,   &LayerInputs::sharedW2,
                                                  &LayerInputs::sharedW3,   &LayerInputs::routerWeight,
                                                  &LayerInputs::routerBias, &LayerInputs::outputGradient};

TEST(MakeInputs, SameSeedSameNumbers) {
  const MoeConfig config = routerConfig(Router::sigmoid, true);
  const Routing routing = Routing::balanced(config);
  const LayerInputs inputs = makeInputs(config, routing, 7, true);
  const LayerInputs again = makeInputs(config, routing, 7, true);
  const LayerInputs other = makeInputs(config, routing, 8, true);
  for (const auto tensor : kTensors) {
    EXPECT_EQ(inputs.*tensor, again.*tensor);
    EXPECT_NE(inputs.*tensor, other.*tensor);
  }
  EXPECT_EQ(inputs.gates, again.gates);
  EXPECT_NE(inputs.gates, other.gates);
  EXPECT_EQ(inputs.topkIds, again.topkIds);
  EXPECT_EQ(inputs.x[0], makeInputs(smallConfig(), Routing::balanced(smallConfig()), 7).x[0]);
}

TEST(MakeInputs, EveryNumberIsRepresentable) {
  for (DType dtype : {DType::bf16, DType::fp16, DType::fp32}) {
    for (bool withRouter : {false, true}) {
      MoeConfig config = routerConfig(Router::sigmoid, false);
      config.dtype = dtype;
      config.gateDtype = dtype == DType::fp32 ? DType::bf16 : DType::fp32;
      const LayerInputs inputs = inputsOf(config, withRouter);
      const auto representable = [](DType in) {
        return testing::Truly([in](double v) { return v == roundTo(in, v); });
      };
      for (const auto tensor : kTensors) EXPECT_THAT(inputs.*tensor, Each(representable(dtype)));
      EXPECT_THAT(inputs.gates, Each(representable(config.gateDtype)));
    }
  }
  const Tensor wide = inputsOf(smallConfig()).x;
  EXPECT_NE(wide[0], roundTo(DType::fp32, wide[0])) << "fp64 stays as it is";
}

TEST(MakeInputs, ShapesFollowTheConfig) {
  const LayerInputs gated = inputsOf(smallConfig());
  EXPECT_EQ(gated.w1.size(), 6 * 4 * 3);
  EXPECT_EQ(gated.w2.size(), gated.w1.size());
  EXPECT_EQ(gated.w3.size(), gated.w1.size());
  EXPECT_EQ(gated.sharedW1.size(), 4 * 14);
  EXPECT_EQ(gated.sharedW2.size(), gated.sharedW1.size());
  EXPECT_EQ(gated.outputGradient.size(), 5 * 4);
  EXPECT_EQ(gated.routerWeight.size() + gated.routerBias.size() + gated.kept.size(), 0);
  EXPECT_THAT(gated.topkIds, ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3));
  MoeConfig plain = smallConfig(Activation::relu);
  plain.sharedExperts = 0;
  EXPECT_EQ(inputsOf(plain).w2.size() + inputsOf(plain).sharedW1.size() + inputsOf(plain).sharedW2.size(), 0);
}

TEST(MakeInputs, NumbersAreNormal) {
  MoeConfig config = smallConfig();
  config.tokens = 1000;
  config.dModel = 64;
  const LayerInputs inputs = inputsOf(config);
  const auto moment = [](const Tensor& values, int power) {
    double sum = 0;
    for (double value : values) sum += std::pow(value, power);
    return sum / static_cast<double>(values.size());
  };
  EXPECT_NEAR(moment(inputs.x, 1), 0, 0.02);
  EXPECT_NEAR(moment(inputs.x, 2), 1, 0.02);
  EXPECT_NEAR(moment(inputs.x, 4), 3, 0.2);
  EXPECT_NEAR(moment(inputs.w1, 2), 1 / 64.0, 0.1 / 64);
  EXPECT_NEAR(moment(inputs.w2, 2), 1 / 64.0, 0.1 / 64);
  EXPECT_NEAR(moment(inputs.w3, 2), 1 / 3.0, 0.1 / 3);
  EXPECT_NEAR(moment(inputs.sharedW3, 2), 1 / 14.0, 0.2 / 14);
}

TEST(MakeInputs, GatesAreASoftmaxOrTheRouters) {
  MoeConfig config = routerConfig(Router::sigmoid, true);
  config.gateDtype = DType::fp32;
  for (bool withRouter : {false, true}) {
    const LayerInputs inputs = inputsOf(config, withRouter);
    ASSERT_EQ(std::ssize(inputs.gates), config.rows());
    for (int64_t slot = 0; slot < config.rows(); slot += config.topK) {
      const auto first = inputs.gates.begin() + slot;
      EXPECT_NEAR(std::accumulate(first, first + config.topK, 0.0), 1, 2e-7);
      EXPECT_NE(first[0], first[1]);
    }
  }
  LayerInputs routed = inputsOf(config, true);
  EXPECT_EQ(routed.routerBias.size(), 6);
  Tensor gates;
  std::vector<int32_t> ids;
  referenceRoute(config, routed.x, routed.routerWeight, routed.routerBias, ids, gates);
  for (double& gate : gates) gate = roundTo(DType::fp32, gate);
  EXPECT_EQ(routed.topkIds, ids);
  EXPECT_EQ(routed.gates, gates);
  EXPECT_TRUE(inputsOf(routerConfig(Router::softmaxTopk, true), true).routerBias.empty());
}

}  // namespace
}  // namespace moeblaze
