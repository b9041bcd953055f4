#pragma once

#include <Eigen/Dense>
#include <cstddef>

#include "kernels/layer/bound_step.h"

namespace moeblaze::host {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A bound operand in host memory. It is stored in the buffer's dtype; kernels compute in T, which is float, or double
/// for fp64.
struct Tensor : BoundOperand {
  /// The element at place `at` of an integer structure.
  int64_t integer(int64_t at) const;
  void setInteger(int64_t at, int64_t value) const;

  /// `count` rows from row `first` on, converted to T.
  template <typename T>
  Matrix<T> load(int64_t first, int64_t count) const;
  template <typename T>
  Matrix<T> load() const {
    return load<T>(0, rows());
  }
  /// Converts and stores `values` from row `first` on.
  template <typename T>
  void store(const Matrix<T>& values, int64_t first = 0) const;
};

/// Converts one element between T and a buffer's dtype. Storing rounds to nearest, ties to even, as every kernel does
/// for bf16 and fp16.
template <typename T>
void storeElement(DType dtype, std::byte* at, T value);
template <typename T>
T loadElement(DType dtype, const std::byte* at);

}  // namespace moeblaze::host
