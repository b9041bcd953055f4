#pragma once

#include <cstdint>
#include <vector>

#include "core/config/config.h"
#include "core/routing/routing.h"

namespace moeblaze {

/// One layer's numbers in fp64, row-major. The layouts of every Plan derive from these. Vectors are empty where the
/// config has no such tensor.
struct LayerInputs {
  MoeConfig config;
  std::vector<int32_t> topkIds;                      ///< [L, k]
  std::vector<double> gates;                         ///< [L, k]
  std::vector<double> x;                             ///< [L, d]
  std::vector<double> w1, w2, w3;                    ///< [E, d, h], [E, d, h] when gated, [E, h, d]
  std::vector<double> sharedW1, sharedW2, sharedW3;  ///< [d, h_s], [d, h_s] when gated, [h_s, d]
  std::vector<double> routerWeight;  ///< [d, E]; where it is given, `topkIds` and `gates` are what the router computes
  std::vector<double> routerBias;    ///< [E] or empty; added to sigmoid scores for the choice only, as DeepSeek-V3 does
  std::vector<double> outputGradient;  ///< [L, d]
  std::vector<uint8_t> kept;           ///< [L, k]; 0 where the slot was dropped; empty when no slot was
};

/// What a training step gives back, in the layouts of LayerInputs.
struct LayerResults {
  std::vector<double> output;  ///< [L, d]
  std::vector<double> x;       ///< this and all below are gradients
  std::vector<double> gates;
  std::vector<double> w1, w2, w3;
  std::vector<double> sharedW1, sharedW2, sharedW3;
  std::vector<double> routerWeight;
};

/// Random inputs for a config and routing, deterministic in `seed`: x and the output gradient N(0,1), weights N(0,
/// 1/fan-in), gates a softmax. Every number is exactly representable in the config's dtype, gates in its gate dtype.
/// With `withRouter` the ids and gates are what the router computes from x and a random weight, and `routing` is not
/// used.
LayerInputs makeInputs(const MoeConfig& config, const Routing& routing, uint64_t seed, bool withRouter = false);

/// `value` rounded to `dtype` (to nearest, ties to even) and converted back.
double roundTo(DType dtype, double value);

/// Computes the layer as its definition says, token by token in fp64. This is the reference for every Plan.
LayerResults referenceLayer(const LayerInputs& inputs);

/// Routes x by the config's router. Ids come in order of falling score, the lower id first among equal scores; ids and
/// gates are [L, k] each.
void referenceRoute(const MoeConfig& config, const std::vector<double>& x, const std::vector<double>& routerWeight,
                    const std::vector<double>& routerBias, std::vector<int32_t>& topkIds, std::vector<double>& gates);

/// act(a) and its derivative; GELU is the form with erf.
double activate(Activation activation, double a);
double activateDerivative(Activation activation, double a);

/// ‖a−b‖/‖b‖ over all elements; ‖a‖ when b is zero.
double normRatio(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace moeblaze
