#pragma once

#include <string>
#include <string_view>

namespace moeblaze {

/// Names of the buffers that every Plan of a layer shares with the world outside it: what a caller gives, and what a
/// training step gives back. Planners, executors and the C API take them from here.
namespace buffer_names {

inline constexpr std::string_view kInput = "x";
inline constexpr std::string_view kTopkIds = "topk_ids";
inline constexpr std::string_view kGates = "gates";
inline constexpr std::string_view kOutput = "O";
inline constexpr std::string_view kOutputGradient = "dO";
inline constexpr std::string_view kInputGradient = "dx";
inline constexpr std::string_view kGateGradient = "dgates";
inline constexpr std::string_view kW1 = "W1";
inline constexpr std::string_view kW2 = "W2";
inline constexpr std::string_view kW3 = "W3";
inline constexpr std::string_view kW12 = "W12";  ///< W1 and W2 side by side in one tensor
inline constexpr std::string_view kRouterWeight = "Wr";
inline constexpr std::string_view kRouterBias = "router_bias";
inline constexpr std::string_view kSharedSuffix = ".shared";  ///< on names of the shared experts' buffers

/// The name of a weight's gradient: "dW1" for "W1".
inline std::string gradientOf(std::string_view weight) { return std::string("d").append(weight); }
/// The shared experts' buffer of the same part: "W1.shared" for "W1".
inline std::string sharedOf(std::string_view name) { return std::string(name) + std::string(kSharedSuffix); }

}  // namespace buffer_names
}  // namespace moeblaze
