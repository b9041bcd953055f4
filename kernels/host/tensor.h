#pragma once

#include <Eigen/Dense>
#include <cstddef>

#include "core/plan.h"

namespace moeblaze::host {

template <typename T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// A buffer's storage as a Step sees it: a matrix of rows of the last extent, or a column where a layout holds one
/// value a row, slot or expert and token. Storage is of the buffer's dtype; kernels compute in T (float, or double for
/// fp64).
struct Tensor {
  const Buffer* buffer = nullptr;
  Use use = Use::data;
  std::byte* data = nullptr;  ///< first element, a view's column included
  int64_t rowStride = 0;      ///< elements from one row to the next

  int64_t rows() const { return buffer->shape.count() / columns(); }
  int64_t columns() const { return columnsOf(*buffer); }
  /// One value for each row, slot or pair: the last extent counts them.
  static int64_t columnsOf(const Buffer& buffer);
  /// Elements [first, first + count) of a flat integer structure.
  int64_t integer(int64_t at) const;
  void setInteger(int64_t at, int64_t value) const;

  /// `count` rows from `first` on, converted to T.
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

/// Rounds to nearest, ties to even: how every kernel stores bf16 and fp16.
template <typename T>
void storeElement(DType dtype, std::byte* at, T value);
template <typename T>
T loadElement(DType dtype, const std::byte* at);

}  // namespace moeblaze::host
