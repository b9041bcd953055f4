#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cassert>
#include <cstdint>

#include "core/base/dtype.h"

namespace moeblaze::cuda {

using Bf16 = __nv_bfloat16;
using Fp16 = __half;

__device__ inline float toFloat(Bf16 value) { return __bfloat162float(value); }
__device__ inline float toFloat(Fp16 value) { return __half2float(value); }
__device__ inline float toFloat(float value) { return value; }

/// Rounds to nearest, ties to even.
template <typename T>
__device__ T fromFloat(float value);
template <>
__device__ inline Bf16 fromFloat<Bf16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ inline Fp16 fromFloat<Fp16>(float value) {
  return __float2half_rn(value);
}
template <>
__device__ inline float fromFloat<float>(float value) {
  return value;
}

/// Two neighbouring 16-bit elements in one register, the first in the low half.
template <typename T>
__device__ uint32_t pack(float low, float high);
template <>
__device__ inline uint32_t pack<Bf16>(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}
template <>
__device__ inline uint32_t pack<Fp16>(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  return *reinterpret_cast<const uint32_t*>(&pair);
}

template <typename T>
__device__ float2 unpack(uint32_t pair);
template <>
__device__ inline float2 unpack<Bf16>(uint32_t pair) {
  return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&pair));
}
template <>
__device__ inline float2 unpack<Fp16>(uint32_t pair) {
  return __half22float2(*reinterpret_cast<const __half2*>(&pair));
}

/// Elements of 16 bits that one 16-byte access moves.
inline constexpr int kVector = 8;

/// Eight neighbouring 16-bit elements as floats; `data` is 16-byte aligned.
template <typename T>
struct Vector {
  float values[kVector];

  __device__ static Vector load(const T* data) {
    const uint4 bits = *reinterpret_cast<const uint4*>(data);
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
    Vector vector;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float2 pair = unpack<T>(words[i]);
      vector.values[2 * i] = pair.x;
      vector.values[2 * i + 1] = pair.y;
    }
    return vector;
  }
  __device__ void store(T* data) const {
    *reinterpret_cast<uint4*>(data) = make_uint4(pack<T>(values[0], values[1]), pack<T>(values[2], values[3]),
                                                 pack<T>(values[4], values[5]), pack<T>(values[6], values[7]));
  }
};

/// A column of numbers whose dtype only the run knows, such as gates and the parts of their gradient.
struct Numbers {
  void* data = nullptr;
  DType dtype = DType::fp32;

  __device__ float load(int64_t at) const {
    switch (dtype) {
      case DType::bf16:
        return toFloat(static_cast<const Bf16*>(data)[at]);
      case DType::fp16:
        return toFloat(static_cast<const Fp16*>(data)[at]);
      default:
        return static_cast<const float*>(data)[at];
    }
  }
  __device__ void store(int64_t at, float value) const {
    switch (dtype) {
      case DType::bf16:
        static_cast<Bf16*>(data)[at] = fromFloat<Bf16>(value);
        return;
      case DType::fp16:
        static_cast<Fp16*>(data)[at] = fromFloat<Fp16>(value);
        return;
      default:
        static_cast<float*>(data)[at] = value;
    }
  }
};

/// A column of indices, int32 or int64.
struct Indices {
  const void* data = nullptr;
  bool wide = false;

  __device__ int64_t operator[](int64_t at) const {
    return wide ? static_cast<const int64_t*>(data)[at] : static_cast<const int32_t*>(data)[at];
  }
};

/// Calls `f` with a value of the element type of a 16-bit `dtype`.
template <typename F>
void withElement(DType dtype, F&& f) {
  assert(dtype == DType::bf16 || dtype == DType::fp16);
  if (dtype == DType::bf16) {
    f(Bf16{});
  } else {
    f(Fp16{});
  }
}

}  // namespace moeblaze::cuda
