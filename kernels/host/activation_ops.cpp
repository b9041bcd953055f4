#include <cmath>
#include <numbers>

#include "kernels/host/step.h"

namespace moeblaze::host {
namespace {

template <typename T>
T sigmoid(T a) {
  return T(1) / (T(1) + std::exp(-a));
}

template <typename T>
T act(Activation activation, T a) {
  switch (activation) {
    case Activation::relu:
      return a > 0 ? a : T(0);
    case Activation::silu:
    case Activation::swiglu:
      return a * sigmoid(a);
    case Activation::gelu:
    case Activation::geglu:
      break;
  }
  return T(0.5) * a * (T(1) + std::erf(a / std::numbers::sqrt2_v<T>));
}

template <typename T>
T derivative(Activation activation, T a) {
  switch (activation) {
    case Activation::relu:
      return a > 0 ? T(1) : T(0);
    case Activation::silu:
    case Activation::swiglu: {
      const T s = sigmoid(a);
      return s * (T(1) + a * (T(1) - s));
    }
    case Activation::gelu:
    case Activation::geglu:
      break;
  }
  const T density = std::exp(-a * a / T(2)) * std::numbers::inv_sqrtpi_v<T> / std::numbers::sqrt2_v<T>;
  return T(0.5) * (T(1) + std::erf(a / std::numbers::sqrt2_v<T>)) + a * density;
}

}  // namespace

template <typename T>
Matrix<T> StepRun<T>::activated(const Matrix<T>& a) const {
  return a.unaryExpr([this](T value) { return act(plan.config.activation, value); });
}

template <typename T>
Matrix<T> StepRun<T>::activationGradient(const Matrix<T>& gradient, const Matrix<T>& kept) const {
  return gradient.binaryExpr(kept, [this](T g, T value) { return g * derivative(plan.config.activation, value); });
}

template <typename T>
void StepRun<T>::activation() {
  store(out(0), activated(load(data(0))));
}

template <typename T>
void StepRun<T>::activationBackward() {
  store(out(0), activationGradient(load(data(0)), load(data(1))));
}

template <typename T>
void StepRun<T>::multiply() {
  store(out(0), load(data(0)).cwiseProduct(load(data(1))));
}

template <typename T>
void StepRun<T>::multiplyBackward() {
  const Matrix<T> gradient = load(data(0)), left = load(data(1)), right = load(data(2));
  store(out(0), gradient.cwiseProduct(left));
  store(out(1), gradient.cwiseProduct(right));
}

template <typename T>
void StepRun<T>::fusedActivation() {
  const auto [a, b] = loadProjections();
  Matrix<T> y = activated(a);
  if (b.cols() > 0) y.array() *= b.array();
  if (read(Use::gates) != nullptr) y.array().colwise() *= rowGates().array();
  storeRows(*written(Use::y), y);
}

template <typename T>
void StepRun<T>::fusedActivationBackward() {
  const auto [a, b] = loadProjections();
  const Matrix<T> upstream = loadRows(data(0)), s = activated(a);
  const Matrix<T> gradient = upstream.array().colwise() * rowGates().array();
  const bool gated = b.cols() > 0;
  if (const Tensor* parts = written(Use::parts)) {
    const Matrix<T> y = gated ? Matrix<T>(s.array() * b.array()) : s;
    storeRows(*parts, upstream.cwiseProduct(y).rowwise().sum());
  }
  storeProjections(activationGradient(gated ? Matrix<T>(gradient.array() * b.array()) : gradient, a),
                   gated ? Matrix<T>(gradient.cwiseProduct(s)) : Matrix<T>());
}

#define INSTANTIATE(T)                                                                         \
  template Matrix<T> StepRun<T>::activated(const Matrix<T>&) const;                            \
  template Matrix<T> StepRun<T>::activationGradient(const Matrix<T>&, const Matrix<T>&) const; \
  template void StepRun<T>::activation();                                                      \
  template void StepRun<T>::activationBackward();                                              \
  template void StepRun<T>::multiply();                                                        \
  template void StepRun<T>::multiplyBackward();                                                \
  template void StepRun<T>::fusedActivation();                                                 \
  template void StepRun<T>::fusedActivationBackward();
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace moeblaze::host
