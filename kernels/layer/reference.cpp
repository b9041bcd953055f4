#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <span>
#include <utility>

#include "kernels/layer/layer_data.h"

namespace moeblaze {
namespace {

using Row = Eigen::RowVectorXd;
using RowRef = Eigen::Ref<Row>;
using ConstRowRef = const Eigen::Ref<const Row>&;
using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using ConstView = Eigen::Map<const Matrix>;
using View = Eigen::Map<Matrix>;

/// The `index`-th of the matrices that `values` holds; it has no columns where the config has no such tensor.
ConstView matrixAt(const std::vector<double>& values, int64_t rows, int64_t columns, int64_t index = 0) {
  if (values.empty()) return {nullptr, rows, 0};
  assert(std::ssize(values) >= (index + 1) * rows * columns);
  return {values.data() + index * rows * columns, rows, columns};
}
View matrixAt(std::vector<double>& values, int64_t rows, int64_t columns, int64_t index = 0) {
  const ConstView view = matrixAt(std::as_const(values), rows, columns, index);
  return {const_cast<double*>(view.data()), rows, view.cols()};
}

double sigmoid(double a) { return 1 / (1 + std::exp(-a)); }

/// Φ(a), the normal distribution function. erfc keeps the digits of the lower tail, where 1 + erf would cancel.
double normalCdf(double a) { return std::erfc(-a / std::numbers::sqrt2) / 2; }

/// One expert's MLP, or that of all shared experts as one: its weights, and where their gradients go.
struct Mlp {
  Activation activation;
  ConstView w1, w2, w3;
  View w1Gradient, w2Gradient, w3Gradient;

  /// Runs one row forward and backward: adds gate·f(x) to `output`, and each gradient to its place. Returns the gate's
  /// gradient.
  double run(ConstRowRef x, double gate, ConstRowRef outputGradient, RowRef output, RowRef xGradient) {
    const Row a = x * w1;
    const Row activated = a.unaryExpr([this](double value) { return activate(activation, value); });
    const Row slope = a.unaryExpr([this](double value) { return activateDerivative(activation, value); });
    const Row b = isGated(activation) ? Row(x * w2) : Row::Ones(a.size());
    const Row hidden = activated.cwiseProduct(b);
    const Row result = hidden * w3;
    output += gate * result;

    const Row resultGradient = gate * outputGradient;
    const Row hiddenGradient = resultGradient * w3.transpose();
    const Row aGradient = hiddenGradient.cwiseProduct(b).cwiseProduct(slope);
    w3Gradient.noalias() += hidden.transpose() * resultGradient;
    w1Gradient.noalias() += x.transpose() * aGradient;
    xGradient.noalias() += aGradient * w1.transpose();
    if (isGated(activation)) {
      const Row bGradient = hiddenGradient.cwiseProduct(activated);
      w2Gradient.noalias() += x.transpose() * bGradient;
      xGradient.noalias() += bGradient * w2.transpose();
    }
    return result.dot(outputGradient);
  }
};

Mlp expertAt(const LayerInputs& in, LayerResults& out, int64_t expert) {
  const auto [d, h] = std::pair(in.config.dModel, in.config.dFf);
  return {in.config.activation,          matrixAt(in.w1, d, h, expert),  matrixAt(in.w2, d, h, expert),
          matrixAt(in.w3, h, d, expert), matrixAt(out.w1, d, h, expert), matrixAt(out.w2, d, h, expert),
          matrixAt(out.w3, h, d, expert)};
}

Mlp sharedExpert(const LayerInputs& in, LayerResults& out) {
  const auto [d, h] = std::pair(in.config.dModel, in.config.sharedWidth());
  return {in.config.activation,        matrixAt(in.sharedW1, d, h),  matrixAt(in.sharedW2, d, h),
          matrixAt(in.sharedW3, h, d), matrixAt(out.sharedW1, d, h), matrixAt(out.sharedW2, d, h),
          matrixAt(out.sharedW3, h, d)};
}

Row softmax(ConstRowRef logits) {
  const Row powers = (logits.array() - logits.maxCoeff()).exp();
  return powers / powers.sum();
}

/// `gradient` less its mean weighted by `shares`. The gradients of softmax and of renormalization have this in common.
Row centred(ConstRowRef gradient, ConstRowRef shares) { return gradient.array() - gradient.dot(shares); }

/// The scores from which gates are computed. Experts are chosen by them too, after the bias is added.
Row scoresOf(Router router, ConstRowRef logits) {
  if (router == Router::softmaxTopk) return softmax(logits);
  if (router == Router::sigmoid) return logits.unaryExpr(&sigmoid);
  return logits;
}

void choose(ConstRowRef ranking, std::span<int32_t> chosen) {
  std::vector<int32_t> order(static_cast<size_t>(ranking.size()));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::partial_sort(order, order.begin() + std::ssize(chosen), [&](int32_t left, int32_t right) {
    return ranking[left] != ranking[right] ? ranking[left] > ranking[right] : left < right;
  });
  std::copy_n(order.begin(), chosen.size(), chosen.begin());
}

Row gatesOf(const MoeConfig& config, ConstRowRef chosenScores) {
  if (config.router == Router::topkSoftmax) return softmax(chosenScores);
  return config.renormalize ? Row(chosenScores / chosenScores.sum()) : Row(chosenScores);
}

/// The gradient of one token's logits from the gradient of its gates. The choice itself has no gradient.
Row logitGradient(const MoeConfig& config, ConstRowRef logits, std::span<const int32_t> chosen, ConstRowRef gradient) {
  const Row scores = scoresOf(config.router, logits);
  const Row chosenScores = scores(chosen);
  const Row gates = gatesOf(config, chosenScores);
  Row chosenGradient = gradient;
  if (config.router == Router::topkSoftmax) {
    chosenGradient = centred(gradient, gates).cwiseProduct(gates);
  } else if (config.renormalize) {
    chosenGradient = centred(gradient, gates) / chosenScores.sum();
  }
  Row scoreGradient = Row::Zero(scores.size());
  scoreGradient(chosen) = chosenGradient;
  if (config.router == Router::softmaxTopk) return centred(scoreGradient, scores).cwiseProduct(scores);
  if (config.router == Router::sigmoid) return scoreGradient.array() * scores.array() * (1 - scores.array());
  return scoreGradient;
}

void routerBackward(const LayerInputs& inputs, LayerResults& results) {
  const MoeConfig& config = inputs.config;
  const ConstView x = matrixAt(inputs.x, config.tokens, config.dModel);
  const ConstView weight = matrixAt(inputs.routerWeight, config.dModel, config.experts);
  const ConstView gateGradient = matrixAt(std::as_const(results.gates), config.tokens, config.topK);
  View xGradient = matrixAt(results.x, config.tokens, config.dModel);
  View weightGradient = matrixAt(results.routerWeight, config.dModel, config.experts);
  for (int64_t token = 0; token < config.tokens; ++token) {
    const auto chosen = std::span(inputs.topkIds).subspan(token * config.topK, config.topK);
    const Row gradient = logitGradient(config, x.row(token) * weight, chosen, gateGradient.row(token));
    weightGradient.noalias() += x.row(token).transpose() * gradient;
    xGradient.row(token) += gradient * weight.transpose();
  }
}

/// Zeros in the shapes of the results.
LayerResults zeroResults(const LayerInputs& inputs) {
  const auto zeros = [](const std::vector<double>& like) { return std::vector<double>(like.size()); };
  return {.output = zeros(inputs.x),
          .x = zeros(inputs.x),
          .gates = zeros(inputs.gates),
          .w1 = zeros(inputs.w1),
          .w2 = zeros(inputs.w2),
          .w3 = zeros(inputs.w3),
          .sharedW1 = zeros(inputs.sharedW1),
          .sharedW2 = zeros(inputs.sharedW2),
          .sharedW3 = zeros(inputs.sharedW3),
          .routerWeight = zeros(inputs.routerWeight)};
}

}  // namespace

double activate(Activation activation, double a) {
  switch (activation) {
    case Activation::relu:
      return a > 0 ? a : 0;
    case Activation::silu:
    case Activation::swiglu:
      return a * sigmoid(a);
    case Activation::gelu:
    case Activation::geglu:
      return a * normalCdf(a);
  }
  assert(false);
  return 0;
}

double activateDerivative(Activation activation, double a) {
  switch (activation) {
    case Activation::relu:
      return a > 0 ? 1 : 0;
    case Activation::silu:
    case Activation::swiglu:
      return sigmoid(a) * (1 + a * sigmoid(-a));
    case Activation::gelu:
    case Activation::geglu:
      return normalCdf(a) + a * std::exp(-a * a / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  }
  assert(false);
  return 0;
}

void referenceRoute(const MoeConfig& config, const std::vector<double>& x, const std::vector<double>& routerWeight,
                    const std::vector<double>& routerBias, std::vector<int32_t>& topkIds, std::vector<double>& gates) {
  topkIds.assign(config.rows(), 0);
  gates.assign(config.rows(), 0);
  const ConstView rows = matrixAt(x, config.tokens, config.dModel);
  const ConstView weight = matrixAt(routerWeight, config.dModel, config.experts);
  View gateRows = matrixAt(gates, config.tokens, config.topK);
  for (int64_t token = 0; token < config.tokens; ++token) {
    const Row scores = scoresOf(config.router, rows.row(token) * weight);
    Row ranking = scores;
    if (config.router == Router::sigmoid && !routerBias.empty()) {
      ranking += matrixAt(routerBias, 1, config.experts).row(0);
    }
    const auto chosen = std::span(topkIds).subspan(token * config.topK, config.topK);
    choose(ranking, chosen);
    gateRows.row(token) = gatesOf(config, scores(chosen));
  }
}

LayerResults referenceLayer(const LayerInputs& inputs) {
  const MoeConfig& config = inputs.config;
  assert(std::ssize(inputs.topkIds) == config.rows() && std::ssize(inputs.gates) == config.rows());
  assert(inputs.outputGradient.size() == inputs.x.size());
  LayerResults results = zeroResults(inputs);
  const ConstView x = matrixAt(inputs.x, config.tokens, config.dModel);
  const ConstView outputGradient = matrixAt(inputs.outputGradient, config.tokens, config.dModel);
  View output = matrixAt(results.output, config.tokens, config.dModel);
  View xGradient = matrixAt(results.x, config.tokens, config.dModel);
  const auto run = [&](Mlp mlp, int64_t token, double gate) {
    return mlp.run(x.row(token), gate, outputGradient.row(token), output.row(token), xGradient.row(token));
  };
  for (int64_t slot = 0; slot < config.rows(); ++slot) {
    if (!inputs.kept.empty() && inputs.kept[slot] == 0) continue;
    const Mlp expert = expertAt(inputs, results, inputs.topkIds[slot]);
    results.gates[slot] = run(expert, slot / config.topK, inputs.gates[slot]);
  }
  if (config.sharedWidth() > 0) {
    for (int64_t token = 0; token < config.tokens; ++token) run(sharedExpert(inputs, results), token, 1);
  }
  if (!inputs.routerWeight.empty()) routerBackward(inputs, results);
  return results;
}

}  // namespace moeblaze
