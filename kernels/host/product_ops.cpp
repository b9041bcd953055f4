#include <algorithm>

#include "kernels/host/step.h"

namespace moeblaze::host {

template <typename T>
Matrix<T> StepRun<T>::timesWeight(const Matrix<T>& rows, const Tensor& weight, bool transposed) const {
  const auto extents = weight.buffer->shape.extents();
  const int64_t in = extents[extents.size() - 2], columns = extents.back();
  Matrix<T> result = Matrix<T>::Zero(rows.rows(), transposed ? in : columns);
  const auto block = [&](int64_t expert, int64_t start, int64_t count) {
    if (count == 0) return;
    const Matrix<T> matrix = weight.template load<T>(expert * in, in);
    if (transposed) {
      result.middleRows(start, count).noalias() = rows.middleRows(start, count) * matrix.transpose();
    } else {
      result.middleRows(start, count).noalias() = rows.middleRows(start, count) * matrix;
    }
  };
  if (identity()) {
    block(0, 0, rows.rows());
  } else {
    for (int64_t e = 0; e < map.experts(); ++e)
      block(map.firstExpert() + e, map.start(e), map.start(e + 1) - map.start(e));
  }
  return result;
}

template <typename T>
void StepRun<T>::product() {
  const auto factors = weights();
  Matrix<T> sum = timesWeight(loadRows(data(0)), *factors[0], step.gemm.transposed);
  for (size_t i = 1; i < factors.size(); ++i) sum += timesWeight(loadRows(data(i)), *factors[i], step.gemm.transposed);
  for (const Tensor* target : operandsOf(writes, Use::data)) {
    const bool accumulates =
        std::any_of(reads.begin(), reads.end(), [&](const Tensor& t) { return t.buffer == target->buffer; });
    if (target->buffer->layout == Layout::rows || identity()) {
      storeRows(*target, accumulates ? Matrix<T>(sum + loadRows(*target)) : sum);
    } else {
      storeRows(*target, sum.array().colwise() * rowGates().array());
    }
  }
}

template <typename T>
void StepRun<T>::groupedGemm() {
  product();
}

template <typename T>
void StepRun<T>::denseGemm() {
  product();
}

template <typename T>
void StepRun<T>::weightGradient() {
  const Matrix<T> left = loadRows(data(0));
  const auto targets = operandsOf(writes, Use::data);
  for (size_t i = 0; i < targets.size(); ++i) {
    Matrix<T> right = loadRows(data(1 + i));
    if (read(Use::gates) != nullptr) right.array().colwise() *= rowGates().array();
    if (identity()) {
      store(*targets[i], left.transpose() * right);
      continue;
    }
    for (int64_t e = 0; e < map.experts(); ++e) {
      const int64_t start = map.start(e), count = map.start(e + 1) - start;
      const Matrix<T> block = left.middleRows(start, count).transpose() * right.middleRows(start, count);
      store(*targets[i], block, (map.firstExpert() + e) * left.cols());
    }
  }
}

template <typename T>
std::pair<Matrix<T>, Matrix<T>> StepRun<T>::project(const Matrix<T>& rows,
                                                    const std::vector<const Tensor*>& factors) const {
  Matrix<T> a = timesWeight(rows, *factors[0], false);
  if (!isGated(plan.config.activation)) return {std::move(a), {}};
  if (factors.size() > 1) return {std::move(a), timesWeight(rows, *factors[1], false)};
  const int64_t half = a.cols() / 2;  // W1 and W2 are side by side in one tensor
  return {a.leftCols(half), a.rightCols(half)};
}

template <typename T>
std::pair<Matrix<T>, Matrix<T>> StepRun<T>::loadProjections() const {
  Matrix<T> a = loadRows(*read(Use::a));
  if (!isGated(plan.config.activation)) return {std::move(a), {}};
  if (const Tensor* b = read(Use::b)) return {std::move(a), loadRows(*b)};
  const int64_t half = a.cols() / 2;
  return {a.leftCols(half), a.rightCols(half)};
}

template <typename T>
void StepRun<T>::storeProjections(const Matrix<T>& a, const Matrix<T>& b) const {
  const Tensor* target = written(Use::b);
  if (target != nullptr || b.cols() == 0) {
    storeRows(*written(Use::a), a);
    if (target != nullptr) storeRows(*target, b);
    return;
  }
  Matrix<T> joined(a.rows(), a.cols() + b.cols());
  joined << a, b;
  storeRows(*written(Use::a), joined);
}

template <typename T>
void StepRun<T>::fusedUp() {
  const auto [a, b] = project(loadRows(data(0)), weights());
  if (const Tensor* target = written(Use::y)) {
    Matrix<T> y = activated(a);
    if (b.size() > 0 || isGated(plan.config.activation)) y.array() *= b.array();
    storeRows(*target, y);
  }
  if (written(Use::a) != nullptr) storeProjections(a, b);
}

template <typename T>
void StepRun<T>::fusedDownBackward() {
  const bool gated = isGated(plan.config.activation);
  // Y's gradient before it is scaled by the gate.
  const Matrix<T> gradient = timesWeight(loadRows(data(0)), *weights().front(), true);
  Matrix<T> a, b;
  if (const auto again = operandsOf(reads, Use::recompute); !again.empty()) {
    std::tie(a, b) = project(loadRows(*again[0]), {again.begin() + 1, again.end()});
  } else {
    std::tie(a, b) = loadProjections();
  }
  const auto gates = rowGates();
  const Matrix<T> s = activated(a);
  Matrix<T> y = gated ? Matrix<T>(s.array() * b.array()) : s;
  if (const Tensor* parts = written(Use::parts)) {
    const int64_t tiles = parts->columns(), width = (y.cols() + tiles - 1) / tiles;
    Matrix<T> sums(y.rows(), tiles);
    for (int64_t tile = 0; tile < tiles; ++tile) {
      const int64_t columns = std::min(width, y.cols() - tile * width);
      sums.col(tile) =
          (gradient.middleCols(tile * width, columns).array() * y.middleCols(tile * width, columns).array())
              .rowwise()
              .sum();
    }
    storeRows(*parts, sums);
  }
  const Matrix<T> yGradient = gradient.array().colwise() * gates.array();
  const Matrix<T> aGradient = activationGradient(gated ? Matrix<T>(yGradient.array() * b.array()) : yGradient, a);
  const Matrix<T> bGradient = gated ? Matrix<T>(yGradient.array() * s.array()) : Matrix<T>();
  storeProjections(aGradient, bGradient);
  y.array().colwise() *= gates.array();
  if (const Tensor* target = written(Use::y)) storeRows(*target, y);
}

#define INSTANTIATE(T)                                                                                              \
  template Matrix<T> StepRun<T>::timesWeight(const Matrix<T>&, const Tensor&, bool) const;                          \
  template void StepRun<T>::product();                                                                              \
  template void StepRun<T>::groupedGemm();                                                                          \
  template void StepRun<T>::denseGemm();                                                                            \
  template void StepRun<T>::weightGradient();                                                                       \
  template std::pair<Matrix<T>, Matrix<T>> StepRun<T>::project(const Matrix<T>&, const std::vector<const Tensor*>&) \
      const;                                                                                                        \
  template std::pair<Matrix<T>, Matrix<T>> StepRun<T>::loadProjections() const;                                     \
  template void StepRun<T>::storeProjections(const Matrix<T>&, const Matrix<T>&) const;                             \
  template void StepRun<T>::fusedUp();                                                                              \
  template void StepRun<T>::fusedDownBackward();
INSTANTIATE(float)
INSTANTIATE(double)
#undef INSTANTIATE

}  // namespace moeblaze::host
