#pragma once

#include <string>
#include <string_view>

namespace moeblaze {

/// Names of the buffers that a Plan shares with the code outside it: what a caller gives, what a training step gives
/// back, and the router's results. Planners, executors and the C API take the names from here.
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
inline constexpr std::string_view kRouterScores = "scores";
inline constexpr std::string_view kSharedSuffix = ".shared";  ///< ends the names of all shared experts' buffers

/// The name of a weight's gradient: "dW1" for "W1".
inline std::string gradientOf(std::string_view weight) { return std::string("d").append(weight); }
/// The name of the shared experts' counterpart: "W1.shared" for "W1".
inline std::string sharedOf(std::string_view name) { return std::string(name).append(kSharedSuffix); }

}  // namespace buffer_names
}  // namespace moeblaze
