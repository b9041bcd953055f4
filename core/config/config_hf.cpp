#include "core/config/config_hf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace moeblaze {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxLayers = 100'000;

/// The layer numbers listed under `key`; none when the key is absent.
std::set<int64_t> layerSet(const JsonReader& reader, std::string_view key, int64_t layers) {
  std::set<int64_t> set;
  if (!reader.has(key)) return set;
  const nlohmann::json& list = reader.at(key);
  if (!list.is_array()) reader.fail(key, "is not a list; allowed: a list of layer numbers");
  for (const nlohmann::json& item : list) {
    if (!item.is_number_integer() || item < 0 || item >= layers) {
      reader.fail(key, fmt::format("holds {}; allowed: layers 0 to {}", quote(item.dump()), layers - 1));
    }
    set.insert(item.get<int64_t>());
  }
  return set;
}

// Each family of models has its own rule for how many of `layers` layers are MoE layers.

int64_t countAll(const JsonReader&, int64_t layers) { return layers; }

int64_t countSparseSteps(const JsonReader& reader, int64_t layers) {
  const int64_t step = reader.integer("decoder_sparse_step", 1, kMaxLayers, 1);
  const std::set<int64_t> dense = layerSet(reader, "mlp_only_layers", layers);
  const auto denseAnyway = std::ranges::count_if(dense, [&](int64_t layer) { return (layer + 1) % step == 0; });
  return layers / step - denseAnyway;
}

int64_t countAfterDense(const JsonReader& reader, int64_t layers) {
  const int64_t firstDense = reader.integer("first_k_dense_replace", 0, kMaxLayers);
  const int64_t every = reader.integer("moe_layer_freq", 1, kMaxLayers, 1);
  const auto multiplesBelow = [&](int64_t end) { return (end + every - 1) / every; };
  return std::max<int64_t>(0, multiplesBelow(layers) - multiplesBelow(firstDense));
}

int64_t countInterleaved(const JsonReader& reader, int64_t layers) {
  if (reader.has("moe_layers")) return std::ssize(layerSet(reader, "moe_layers", layers));
  return layers / reader.integer("interleave_moe_layer_step", 1, kMaxLayers, 1);
}

/// Whether the gates of a token are divided by their sum.
enum class Renormalize : uint8_t {
  never,
  always,
  unlessFalse,  ///< unless `norm_topk_prob` is false
  ifTrue,       ///< if `norm_topk_prob` is true
};

/// How the config.json files of a family of models describe their MoE layer.
struct Family {
  std::string_view modelType;
  std::string_view expertsKey;
  std::string_view widthKey;        ///< key of the width of a routed expert
  std::string_view sharedWidthKey;  ///< key of the width of a shared expert; empty when there are none
  std::string_view sharedCountKey;  ///< empty when there is one shared expert, or none if its width is 0
  int64_t (*countMoeLayers)(const JsonReader&, int64_t layers);
  Router router;  ///< unless the file has `scoring_func`
  Renormalize renormalize;
};

constexpr std::string_view kWidth = "intermediate_size";
constexpr std::string_view kMoeWidth = "moe_intermediate_size";
constexpr std::string_view kGraniteShared = "shared_intermediate_size";
constexpr std::string_view kLocal = "num_local_experts";
constexpr std::string_view kRouted = "n_routed_experts";
constexpr std::string_view kShared = "n_shared_experts";

constexpr std::array kFamilies{
    Family{"mixtral", kLocal, kWidth, "", "", countAll, Router::softmaxTopk, Renormalize::always},
    Family{"qwen2_moe", "num_experts", kMoeWidth, "shared_expert_intermediate_size", "", countSparseSteps,
           Router::softmaxTopk, Renormalize::ifTrue},
    Family{"qwen3_moe", "num_experts", kMoeWidth, "", "", countSparseSteps, Router::softmaxTopk, Renormalize::ifTrue},
    Family{"deepseek_v2", kRouted, kMoeWidth, kMoeWidth, kShared, countAfterDense, Router::softmaxTopk,
           Renormalize::ifTrue},
    Family{"deepseek_v3", kRouted, kMoeWidth, kMoeWidth, kShared, countAfterDense, Router::sigmoid,
           Renormalize::unlessFalse},
    Family{"kimi_k2", kRouted, kMoeWidth, kMoeWidth, kShared, countAfterDense, Router::sigmoid,
           Renormalize::unlessFalse},
    Family{"glm4_moe", kRouted, kMoeWidth, kMoeWidth, kShared, countAfterDense, Router::sigmoid,
           Renormalize::unlessFalse},
    Family{"olmoe", "num_experts", kWidth, "", "", countAll, Router::softmaxTopk, Renormalize::ifTrue},
    Family{"gpt_oss", kLocal, kWidth, "", "", countAll, Router::topkSoftmax, Renormalize::never},
    Family{"phimoe", kLocal, kWidth, "", "", countAll, Router::softmaxTopk, Renormalize::never},
    Family{"granitemoe", kLocal, kWidth, "", "", countAll, Router::topkSoftmax, Renormalize::never},
    Family{"granitemoeshared", kLocal, kWidth, kGraniteShared, "", countAll, Router::topkSoftmax, Renormalize::never},
    Family{"granitemoehybrid", kLocal, kWidth, kGraniteShared, "", countAll, Router::topkSoftmax, Renormalize::never},
    Family{"llama4", kLocal, kWidth, kWidth, "", countInterleaved, Router::sigmoid, Renormalize::never},
    Family{"llama4_text", kLocal, kWidth, kWidth, "", countInterleaved, Router::sigmoid, Renormalize::never},
};

template <typename Value, size_t N>
using Choices = std::array<std::pair<std::string_view, Value>, N>;

constexpr Choices<Activation, 2> kActs{{{"silu", Activation::swiglu}, {"gelu", Activation::geglu}}};
constexpr Choices<DType, 3> kDTypes{{{"bfloat16", DType::bf16}, {"float16", DType::fp16}, {"float32", DType::fp32}}};
constexpr Choices<Router, 2> kScorings{{{"softmax", Router::softmaxTopk}, {"sigmoid", Router::sigmoid}}};

/// The value that `text` stands for. Throws InputError that `text` is not `what`, such as "an activation".
template <typename Value, size_t N>
Value choose(const JsonReader& reader, std::string_view key, std::string_view text, const Choices<Value, N>& choices,
             std::string_view what) {
  std::vector<std::string_view> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  reader.fail(key, fmt::format("{} is not {} this toolkit has; allowed: {}", quote(text), what, listNames(names)));
}

/// The name of an architecture or a model type in one spelling: "Qwen3MoeForCausalLM" and "qwen3_moe" give "qwen3moe".
std::string squeezed(std::string_view text) {
  std::string name;
  for (unsigned char c : text.substr(0, text.find("For"))) {
    if (c != '_') name += static_cast<char>(std::tolower(c));
  }
  return name;
}

/// The key that names the model's family, and the name: `model_type`, or else the first of `architectures`.
std::pair<std::string_view, std::string> familyName(const JsonReader& reader) {
  if (reader.has("model_type")) return {"model_type", reader.text("model_type")};
  const nlohmann::json& list = reader.at("architectures");
  if (!list.is_array() || list.empty() || !list[0].is_string()) {
    reader.fail("architectures", "names no architecture; allowed: a list such as [\"MixtralForCausalLM\"]");
  }
  return {"architectures", list[0].get<std::string>()};
}

const Family& findFamily(const JsonReader& reader) {
  const auto [key, text] = familyName(reader);
  const auto found =
      std::ranges::find(kFamilies, squeezed(text), [](const Family& f) { return squeezed(f.modelType); });
  if (found != kFamilies.end()) return *found;
  std::vector<std::string_view> names;
  for (const Family& family : kFamilies) names.push_back(family.modelType);
  reader.fail(key, fmt::format("{} is not a MoE family this toolkit reads; allowed: {}{}", quote(text),
                               listNames(names), didYouMean(text, names)));
}

Activation activationOf(const JsonReader& reader) {
  const std::string_view key = reader.has("hidden_act") ? "hidden_act" : "hidden_activation";
  const std::string act = reader.text(key, "silu");
  return choose(reader, key, act == "swish" ? "silu" : act, kActs, "an activation");
}

/// The dtype of the model. Newer files call it `dtype` instead of `torch_dtype`, and multimodal ones may give it only
/// in the outer object `top`.
DType dtypeOf(const JsonReader& text, const JsonReader& top) {
  for (const JsonReader* reader : {&text, &top}) {
    for (std::string_view key : {"dtype", "torch_dtype"}) {
      if (!reader->has(key)) continue;
      const std::string dtype = reader->text(key);
      return dtype == "auto" ? DType::bf16 : choose(*reader, key, dtype, kDTypes, "a dtype");
    }
  }
  return DType::bf16;
}

bool renormalizes(const JsonReader& reader, Renormalize rule) {
  constexpr std::string_view kKey = "norm_topk_prob";
  switch (rule) {
    case Renormalize::never:
      return false;
    case Renormalize::always:
      return true;
    case Renormalize::unlessFalse:
      return reader.boolean(kKey, true);
    case Renormalize::ifTrue:
      return reader.boolean(kKey, false);
  }
  return false;
}

void readSharedExperts(const JsonReader& reader, const Family& family, MoeConfig& config) {
  if (family.sharedWidthKey.empty()) return;
  const int64_t count =
      family.sharedCountKey.empty() ? 1 : reader.integer(family.sharedCountKey, 0, kMaxSharedExperts, 0);
  const int64_t width = reader.integer(family.sharedWidthKey, 0, kMaxWidth);
  if (count == 0 || width == 0) return;
  config.sharedExperts = count;
  config.sharedDFf = width;
}

/// The published name if the file has one, or else the name of the file, or of its folder when it is a config.json.
std::string modelName(const JsonReader& reader, const fs::path& path) {
  std::string published = fs::path(reader.text("_name_or_path", "")).filename().string();
  if (!published.empty()) return published;
  if (path.filename() != "config.json") return path.stem().string();
  std::error_code error;
  const std::string folder = fs::absolute(path, error).lexically_normal().parent_path().filename().string();
  return folder.empty() ? path.stem().string() : folder;
}

}  // namespace

bool isHuggingFace(const JsonReader& reader) { return reader.has("model_type") || reader.has("architectures"); }

ConfigSource readHuggingFace(const JsonReader& top, const fs::path& path) {
  const Family& family = findFamily(top);
  const JsonReader reader = top.has("text_config") ? top.object("text_config") : top;

  MoeConfig config;
  config.name = modelName(top, path);
  config.dModel = reader.integer("hidden_size", 1, kMaxWidth);
  config.dFf = reader.integer(family.widthKey, 1, kMaxWidth);
  config.experts = reader.integer(family.expertsKey, 1, kMaxExperts);
  config.topK = reader.integer("num_experts_per_tok", 1, std::min(config.experts, kMaxTopK));
  config.tokens = kDefaultTokens;
  config.activation = activationOf(reader);
  config.dtype = dtypeOf(reader, top);
  config.router = reader.has("scoring_func")
                      ? choose(reader, "scoring_func", reader.text("scoring_func"), kScorings, "a router")
                      : family.router;
  config.renormalize = renormalizes(reader, family.renormalize);
  readSharedExperts(reader, family, config);

  const int64_t layers = reader.integer("num_hidden_layers", 1, kMaxLayers);
  const int64_t moeLayers = family.countMoeLayers(reader, layers);
  if (moeLayers < 1)
    reader.fail("num_hidden_layers", fmt::format("{} includes no MoE layer; allowed: 1 or more", layers));
  return {std::move(config), path.string(), layers, moeLayers};
}

}  // namespace moeblaze
