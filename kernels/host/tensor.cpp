#include "kernels/host/tensor.h"

#include <cstring>

namespace moeblaze::host {
namespace {

/// Calls `f` with a value of the C++ type that stores `dtype`.
template <typename F>
auto withType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::fp64:
      return f(double{});
    case DType::fp32:
      return f(float{});
    case DType::bf16:
      return f(Eigen::bfloat16{});
    case DType::fp16:
      return f(Eigen::half{});
    case DType::int64:
      return f(int64_t{});
    case DType::int32:
      return f(int32_t{});
    case DType::int16:
      return f(int16_t{});
    case DType::uint8:
      break;
  }
  return f(uint8_t{});
}

/// Eigen converts double to its 16-bit types by way of float; converting to float first makes that explicit.
template <typename Stored, typename T>
Stored convert(T value) {
  if constexpr (std::is_same_v<Stored, Eigen::bfloat16> || std::is_same_v<Stored, Eigen::half>) {
    return Stored(static_cast<float>(value));
  } else {
    return static_cast<Stored>(value);
  }
}

template <typename Stored, typename T>
T widen(Stored value) {
  if constexpr (std::is_same_v<Stored, Eigen::bfloat16> || std::is_same_v<Stored, Eigen::half>) {
    return static_cast<T>(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

}  // namespace

int64_t Tensor::integer(int64_t at) const {
  return loadElement<int64_t>(buffer->dtype, data + at * sizeOf(buffer->dtype));
}

void Tensor::setInteger(int64_t at, int64_t value) const {
  storeElement<int64_t>(buffer->dtype, data + at * sizeOf(buffer->dtype), value);
}

template <typename T>
T loadElement(DType dtype, const std::byte* at) {
  return withType(dtype, [&](auto stored) {
    std::memcpy(&stored, at, sizeof stored);
    return widen<decltype(stored), T>(stored);
  });
}

template <typename T>
void storeElement(DType dtype, std::byte* at, T value) {
  withType(dtype, [&](auto stored) {
    stored = convert<decltype(stored)>(value);
    std::memcpy(at, &stored, sizeof stored);
  });
}

template <typename T>
Matrix<T> Tensor::load(int64_t first, int64_t count) const {
  Matrix<T> matrix(count, columns());
  withType(buffer->dtype, [&](auto tag) {
    using Stored = decltype(tag);
    const auto* source = reinterpret_cast<const Stored*>(data);
    for (int64_t r = 0; r < count; ++r)
      for (int64_t c = 0; c < matrix.cols(); ++c) matrix(r, c) = widen<Stored, T>(source[(first + r) * rowStride + c]);
  });
  return matrix;
}

template <typename T>
void Tensor::store(const Matrix<T>& values, int64_t first) const {
  assert(values.cols() == columns() && first + values.rows() <= rows());
  withType(buffer->dtype, [&](auto tag) {
    using Stored = decltype(tag);
    auto* target = reinterpret_cast<Stored*>(data);
    for (int64_t r = 0; r < values.rows(); ++r)
      for (int64_t c = 0; c < values.cols(); ++c) target[(first + r) * rowStride + c] = convert<Stored>(values(r, c));
  });
}

template Matrix<float> Tensor::load<float>(int64_t, int64_t) const;
template Matrix<double> Tensor::load<double>(int64_t, int64_t) const;
template void Tensor::store<float>(const Matrix<float>&, int64_t) const;
template void Tensor::store<double>(const Matrix<double>&, int64_t) const;
template double loadElement<double>(DType, const std::byte*);
template int64_t loadElement<int64_t>(DType, const std::byte*);
template void storeElement<double>(DType, std::byte*, double);
template void storeElement<int64_t>(DType, std::byte*, int64_t);

}  // namespace moeblaze::host
