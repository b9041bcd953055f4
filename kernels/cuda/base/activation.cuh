#pragma once

#include "core/config/config.h"

namespace moeblaze::cuda {

/// The value and the derivative of an activation, in fp32.
struct Activated {
  float value, derivative;
};

__device__ inline float sigmoid(float a) { return __fdividef(1.0f, 1.0f + __expf(-a)); }

/// The probability that a standard normal number is below `a`. GELU(a) is a times this; it is the form with erf,
/// PyTorch's default.
__device__ inline float normalBelow(float a) { return 0.5f * (1.0f + erff(a * 0.70710678f)); }

template <Activation kActivation>
__device__ inline float activate(float a) {
  if constexpr (kActivation == Activation::relu) {
    return fmaxf(a, 0.0f);
  } else if constexpr (kActivation == Activation::silu || kActivation == Activation::swiglu) {
    return a * sigmoid(a);
  } else {
    return a * normalBelow(a);
  }
}

template <Activation kActivation>
__device__ inline Activated activateBoth(float a) {
  if constexpr (kActivation == Activation::relu) {
    return {fmaxf(a, 0.0f), a > 0.0f ? 1.0f : 0.0f};
  } else if constexpr (kActivation == Activation::silu || kActivation == Activation::swiglu) {
    const float s = sigmoid(a);
    return {a * s, s * (1.0f + a * (1.0f - s))};
  } else {
    const float below = normalBelow(a), density = 0.39894228f * __expf(-0.5f * a * a);
    return {a * below, below + a * density};
  }
}

/// Calls `f` with the activation as a template argument: f.template operator()<kActivation>().
template <typename F>
void withActivation(Activation activation, F&& f) {
  switch (activation) {
    case Activation::relu:
      return f.template operator()<Activation::relu>();
    case Activation::silu:
      return f.template operator()<Activation::silu>();
    case Activation::gelu:
      return f.template operator()<Activation::gelu>();
    case Activation::swiglu:
      return f.template operator()<Activation::swiglu>();
    case Activation::geglu:
      return f.template operator()<Activation::geglu>();
  }
}

}  // namespace moeblaze::cuda
