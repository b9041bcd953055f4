#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"

namespace moeblaze {

/// Expert activation. The gated ones (swiglu, geglu) have two first projections A = x·W1 and B = x·W2 and compute
/// act(A)⊙B; the others have A only.
enum class Activation : uint8_t { relu, silu, gelu, swiglu, geglu };

/// How gates come from logits: softmax over all experts, then top-k; top-k, then softmax over the chosen; sigmoid
/// (DeepSeek-V3).
enum class Router : uint8_t { softmaxTopk, topkSoftmax, sigmoid };

inline constexpr std::array kActivations{Activation::relu, Activation::silu, Activation::gelu, Activation::swiglu,
                                         Activation::geglu};
inline constexpr std::array kRouters{Router::softmaxTopk, Router::topkSoftmax, Router::sigmoid};

constexpr std::string_view name(Activation activation) {
  constexpr std::array<std::string_view, 5> kNames{"relu", "silu", "gelu", "swiglu", "geglu"};
  return kNames[static_cast<size_t>(activation)];
}
constexpr std::string_view name(Router router) {
  constexpr std::array<std::string_view, 3> kNames{"softmax_topk", "topk_softmax", "sigmoid"};
  return kNames[static_cast<size_t>(router)];
}
constexpr bool isGated(Activation activation) {
  return activation == Activation::swiglu || activation == Activation::geglu;
}

/// One MoE layer and the tokens it sees in a step. Sizes are counts of elements, tokens, experts.
struct MoeConfig {
  std::string name{};
  int64_t dModel = 0;   ///< d: model width
  int64_t dFf = 0;      ///< h: hidden width of one routed expert
  int64_t experts = 0;  ///< E: routed experts
  int64_t topK = 0;     ///< k: experts per token
  int64_t tokens = 0;   ///< L: tokens in the step (batch × sequence)
  Activation activation = Activation::swiglu;
  DType dtype = DType::bf16;      ///< activations, weights and their gradients
  DType gateDtype = DType::fp32;  ///< gates as the router hands them over
  int64_t sharedExperts = 0;
  int64_t sharedDFf = 0;  ///< hidden width of one shared expert
  Router router = Router::softmaxTopk;
  bool renormalize = false;                ///< gates of a token divided by their sum
  std::optional<double> capacityFactor{};  ///< γ of capacity-limited systems: C = ⌈γ·L·k/E⌉

  /// R = L·k: routed rows ("slots").
  int64_t rows() const { return tokens * topK; }
  /// Hidden width of all shared experts run as one dense MLP; 0 without shared experts.
  int64_t sharedWidth() const { return sharedExperts * sharedDFf; }
  /// First projections per expert: 2 when gated, else 1.
  int64_t upProjections() const { return isGated(activation) ? 2 : 1; }
};

/// Largest values `validate` accepts; with them no byte count of a Plan overflows int64 and row ids fit int32.
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;
inline constexpr int64_t kMaxExperts = int64_t{1} << 16;
inline constexpr int64_t kMaxTopK = 64;
inline constexpr int64_t kMaxRows = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxSharedExperts = 1024;

/// Throws InputError naming `source` (a file or a config's name), the field, its value and the allowed range.
void validate(const MoeConfig& config, std::string_view source);

/// A layer together with where it was read from and how many such layers its model has.
struct ConfigSource {
  MoeConfig layer;
  std::string origin;     ///< "built in" or the path read
  int64_t layers = 1;     ///< layers of the model
  int64_t moeLayers = 1;  ///< how many of them are this MoE layer; the rest are dense
};

/// Tokens a model's config stands for until told otherwise.
inline constexpr int64_t kDefaultTokens = 16384;

/// The built-in configs: conf1 to conf7 of the paper (arXiv 2601.05296, §5) and the MoE layers of public models.
const std::vector<ConfigSource>& namedConfigs();

/// Reads `text` as a built-in name (any case), a JSON file with the design's keys, a Hugging Face config.json, or a
/// folder that holds one. Throws InputError, with the nearest name where there is one.
ConfigSource loadConfig(const std::string& text);

/// Spelled value → enum; throws InputError "<where>: activation 'x' ...; allowed: ...".
Activation parseActivation(std::string_view text, std::string_view where);

}  // namespace moeblaze
