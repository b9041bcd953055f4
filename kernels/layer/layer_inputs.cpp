#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/routing/expert_sampler.h"
#include "kernels/layer/layer_data.h"

namespace moeblaze {
namespace {

/// A binary floating format narrower than double.
struct Format {
  int fractionBits;
  int minExponent;  ///< smallest exponent of normal numbers; numbers below it keep its spacing
  int maxExponent;
};
constexpr Format kBf16{7, -126, 127};
constexpr Format kFp16{10, -14, 15};

/// Rounds straight from double. By way of float, a value just off a tie would be rounded twice.
double roundTo(Format format, double value) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), format.minExponent);
  const double rounded =
      std::ldexp(std::nearbyint(std::ldexp(value, format.fractionBits - exponent)), exponent - format.fractionBits);
  const bool overflows = std::abs(rounded) >= std::ldexp(1.0, format.maxExponent + 1);
  return overflows ? std::copysign(std::numeric_limits<double>::infinity(), value) : rounded;
}

/// Draws normal numbers of a config's dtype.
class Normals {
 public:
  Normals(DType dtype, uint64_t seed) : dtype_(dtype), random_(seed) {}

  /// The sum of twelve uniform numbers, which lies within ±6 and is normal for our purposes. Every platform gets the
  /// same bits, which the log and cos of its mathematical library would not give.
  double next() {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random_.uniform();
    return sum;
  }

  std::vector<double> tensor(int64_t count, double deviation = 1) {
    std::vector<double> values(static_cast<size_t>(count));
    for (double& value : values) value = moeblaze::roundTo(dtype_, deviation * next());
    return values;
  }

  /// `count` matrices [fanIn, fanOut], scaled so that their products with N(0,1) rows are N(0,1) as well.
  std::vector<double> weights(int64_t count, int64_t fanIn, int64_t fanOut) {
    return tensor(count * fanIn * fanOut, 1 / std::sqrt(static_cast<double>(fanIn)));
  }

 private:
  DType dtype_;
  SplitMix64 random_;
};

void setRouted(LayerInputs& inputs, const Routing& routing, Normals& normals) {
  const MoeConfig& config = inputs.config;
  for (int64_t token = 0; token < config.tokens; ++token) {
    const size_t first = inputs.gates.size();
    double sum = 0;
    for (int64_t choice = 0; choice < config.topK; ++choice) {
      inputs.topkIds.push_back(routing.expertOf(token, choice));
      inputs.gates.push_back(std::exp(normals.next()));
      sum += inputs.gates.back();
    }
    for (size_t slot = first; slot < inputs.gates.size(); ++slot) inputs.gates[slot] /= sum;
  }
}

void setRouter(LayerInputs& inputs, Normals& normals) {
  constexpr double kBiasDeviation = 0.1;  // large enough to change some choices, too small to decide all of them
  const MoeConfig& config = inputs.config;
  inputs.routerWeight = normals.weights(1, config.dModel, config.experts);
  if (config.router == Router::sigmoid) inputs.routerBias = normals.tensor(config.experts, kBiasDeviation);
  referenceRoute(config, inputs.x, inputs.routerWeight, inputs.routerBias, inputs.topkIds, inputs.gates);
}

}  // namespace

double roundTo(DType dtype, double value) {
  switch (dtype) {
    case DType::fp64:
      return value;
    case DType::fp32:
      return static_cast<double>(static_cast<float>(value));
    case DType::bf16:
      return roundTo(kBf16, value);
    case DType::fp16:
      return roundTo(kFp16, value);
    default:
      assert(false && "not a floating dtype");
      return value;
  }
}

LayerInputs makeInputs(const MoeConfig& config, const Routing& routing, uint64_t seed, bool withRouter) {
  const auto [d, h, shared] = std::array{config.dModel, config.dFf, config.sharedWidth()};
  const int64_t gated = isGated(config.activation) ? 1 : 0;
  Normals normals(config.dtype, seed);
  LayerInputs inputs;
  inputs.config = config;
  inputs.x = normals.tensor(config.tokens * d);
  inputs.outputGradient = normals.tensor(config.tokens * d);
  inputs.w1 = normals.weights(config.experts, d, h);
  inputs.w2 = normals.weights(config.experts * gated, d, h);
  inputs.w3 = normals.weights(config.experts, h, d);
  if (shared > 0) {
    inputs.sharedW1 = normals.weights(1, d, shared);
    inputs.sharedW2 = normals.weights(gated, d, shared);
    inputs.sharedW3 = normals.weights(1, shared, d);
  }
  if (withRouter) {
    setRouter(inputs, normals);
  } else {
    setRouted(inputs, routing, normals);
  }
  for (double& gate : inputs.gates) gate = roundTo(config.gateDtype, gate);
  return inputs;
}

double normRatio(const std::vector<double>& a, const std::vector<double>& b) {
  assert(a.size() == b.size());
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

}  // namespace moeblaze
