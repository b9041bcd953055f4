#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace moeblaze {

/// Element types of buffers. A config's `dtype` is one of the floating types; the integers hold indices.
enum class DType : uint8_t { fp64, fp32, bf16, fp16, int64, int32, int16, uint8 };

/// The name of a dtype in configs and reports.
constexpr std::string_view name(DType dtype) {
  constexpr std::array<std::string_view, 8> kNames{"fp64", "fp32", "bf16", "fp16", "int64", "int32", "int16", "uint8"};
  return kNames[static_cast<size_t>(dtype)];
}

/// Bytes of one element.
constexpr int64_t sizeOf(DType dtype) {
  constexpr std::array<int64_t, 8> kSizes{8, 4, 2, 2, 8, 4, 2, 1};
  return kSizes[static_cast<size_t>(dtype)];
}

/// The dtypes in which a config may compute and store activations.
inline constexpr std::array kFloatDTypes{DType::bf16, DType::fp16, DType::fp32, DType::fp64};

}  // namespace moeblaze
