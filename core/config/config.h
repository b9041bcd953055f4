#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"

namespace moeblaze {

/// The activation of an expert. The gated ones (swiglu, geglu) have two first products A = x·W1 and B = x·W2 and
/// compute act(A)⊙B; the others have A only.
enum class Activation : uint8_t { relu, silu, gelu, swiglu, geglu };

/// How the router makes gates from logits.
enum class Router : uint8_t {
  softmaxTopk,  ///< softmax over all experts, then top-k
  topkSoftmax,  ///< top-k, then softmax over the chosen experts
  sigmoid,      ///< sigmoid, then top-k of the biased scores (DeepSeek-V3)
};

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

/// One MoE layer and the tokens of a training step. Comments elsewhere use the letters d, h, E, k and L.
struct MoeConfig {
  std::string name{};
  int64_t dModel = 0;   ///< d: model width
  int64_t dFf = 0;      ///< h: hidden width of one routed expert
  int64_t experts = 0;  ///< E: routed experts
  int64_t topK = 0;     ///< k: experts per token
  int64_t tokens = 0;   ///< L: tokens in the step (batch × sequence)
  Activation activation = Activation::swiglu;
  DType dtype = DType::bf16;      ///< of activations, weights and their gradients
  DType gateDtype = DType::fp32;  ///< of the gates that the router gives
  int64_t sharedExperts = 0;
  int64_t sharedDFf = 0;  ///< hidden width of one shared expert
  Router router = Router::softmaxTopk;
  bool renormalize = false;                ///< the gates of a token are divided by their sum
  std::optional<double> capacityFactor{};  ///< γ of capacity-limited systems: ⌈γ·L·k/E⌉ rows per expert

  /// R = L·k: pairs of a token and an expert that it chose.
  int64_t rows() const { return tokens * topK; }
  /// Hidden width of all shared experts run as one dense MLP; 0 without shared experts.
  int64_t sharedWidth() const { return sharedExperts * sharedDFf; }
  /// First products of an expert: 2 when gated, else 1.
  int64_t upProjections() const { return isGated(activation) ? 2 : 1; }
};

/// Largest values that validate() accepts. Within them no byte count of a Plan overflows int64, and row ids fit int32.
inline constexpr int64_t kMaxWidth = int64_t{1} << 20;
inline constexpr int64_t kMaxExperts = int64_t{1} << 16;
inline constexpr int64_t kMaxTopK = 64;
inline constexpr int64_t kMaxRows = (int64_t{1} << 31) - 1;
inline constexpr int64_t kMaxSharedExperts = 1024;

/// Throws InputError when a field is out of its range. The text names `source` (a file or the name of a config), the
/// field, its value and the range.
void validate(const MoeConfig& config, std::string_view source);

/// A layer, where it was read from, and how many such layers its model has.
struct ConfigSource {
  MoeConfig layer;
  std::string origin;     ///< "built in", or the path of the file
  int64_t layers = 1;     ///< layers of the model
  int64_t moeLayers = 1;  ///< how many of them are this MoE layer; the rest are dense
};

/// Tokens of a training step when neither the config nor an option gives them.
inline constexpr int64_t kDefaultTokens = 16384;

/// The built-in configs: conf1 to conf7 of the paper (arXiv 2601.05296, §5) and the MoE layers of public models.
const std::vector<ConfigSource>& namedConfigs();

/// Loads the config that `text` names: a built-in one (in any case), a JSON file with this toolkit's keys, a Hugging
/// Face config.json, or a folder that holds one. Throws InputError, which gives the nearest name if there is one.
ConfigSource loadConfig(const std::string& text);

/// The activation of that name. Throws InputError "<where>: activation 'x' is unknown; allowed: ...".
Activation parseActivation(std::string_view text, std::string_view where);

}  // namespace moeblaze
