#include <array>
#include <string_view>

#include "core/config/config.h"

namespace moeblaze {
namespace {

/// A layer of the MoEBlaze paper; its tokens are batch times sequence.
struct PaperLayer {
  std::string_view name;
  int64_t dModel, experts, topK, batch, sequence;
};

constexpr std::array kPaperLayers{
    PaperLayer{"conf1", 512, 4, 1, 32, 2048},   PaperLayer{"conf2", 1024, 8, 2, 32, 2048},
    PaperLayer{"conf3", 1024, 16, 4, 32, 2048}, PaperLayer{"conf4", 2048, 16, 4, 32, 1024},
    PaperLayer{"conf5", 512, 16, 4, 32, 1024},  PaperLayer{"conf6", 1024, 16, 4, 16, 1024},
    PaperLayer{"conf7", 2048, 8, 4, 16, 512},
};

constexpr auto kSoftmaxTopk = Router::softmaxTopk;
constexpr auto kTopkSoftmax = Router::topkSoftmax;
constexpr auto kSigmoid = Router::sigmoid;

/// The MoE layer of a published model.
struct ModelLayer {
  std::string_view name;
  int64_t dModel, dFf, experts, topK;
  Router router;
  bool renormalize;
  int64_t layers, moeLayers;
  int64_t sharedExperts = 0, sharedDFf = 0;
};

// The figures are those of the models' published config.json files. Phi's sparse mixer is close to a softmax whose
// gates are not divided by their sum.
constexpr std::array kModelLayers{
    ModelLayer{"mixtral-8x7b", 4096, 14336, 8, 2, kSoftmaxTopk, true, 32, 32},
    ModelLayer{"mixtral-8x22b", 6144, 16384, 8, 2, kSoftmaxTopk, true, 56, 56},
    ModelLayer{"deepseek-v2-lite", 2048, 1408, 64, 6, kSoftmaxTopk, false, 27, 26, 2, 1408},
    ModelLayer{"deepseek-v3", 7168, 2048, 256, 8, kSigmoid, true, 61, 58, 1, 2048},
    ModelLayer{"kimi-k2", 7168, 2048, 384, 8, kSigmoid, true, 61, 60, 1, 2048},
    ModelLayer{"qwen3-30b-a3b", 2048, 768, 128, 8, kSoftmaxTopk, true, 48, 48},
    ModelLayer{"qwen3-235b-a22b", 4096, 1536, 128, 8, kSoftmaxTopk, true, 94, 94},
    ModelLayer{"olmoe-1b-7b", 2048, 1024, 64, 8, kSoftmaxTopk, false, 16, 16},
    ModelLayer{"gpt-oss-20b", 2880, 2880, 32, 4, kTopkSoftmax, false, 24, 24},
    ModelLayer{"gpt-oss-120b", 2880, 2880, 128, 4, kTopkSoftmax, false, 36, 36},
    ModelLayer{"phi-3.5-moe", 4096, 6400, 16, 2, kSoftmaxTopk, false, 32, 32},
    ModelLayer{"llama-4-scout", 5120, 8192, 16, 1, kSigmoid, false, 48, 48, 1, 8192},
    ModelLayer{"glm-4.5", 5120, 1536, 160, 8, kSigmoid, true, 92, 89, 1, 1536},
};

ConfigSource sourceOf(const PaperLayer& layer) {
  MoeConfig config;
  config.name = layer.name;
  config.dModel = layer.dModel;
  config.dFf = 4 * layer.dModel;
  config.experts = layer.experts;
  config.topK = layer.topK;
  config.tokens = layer.batch * layer.sequence;
  return {.layer = std::move(config), .origin = "built in"};
}

ConfigSource sourceOf(const ModelLayer& layer) {
  MoeConfig config;
  config.name = layer.name;
  config.dModel = layer.dModel;
  config.dFf = layer.dFf;
  config.experts = layer.experts;
  config.topK = layer.topK;
  config.tokens = kDefaultTokens;
  config.sharedExperts = layer.sharedExperts;
  config.sharedDFf = layer.sharedDFf;
  config.router = layer.router;
  config.renormalize = layer.renormalize;
  return {std::move(config), "built in", layer.layers, layer.moeLayers};
}

}  // namespace

const std::vector<ConfigSource>& namedConfigs() {
  static const std::vector<ConfigSource> kConfigs = [] {
    std::vector<ConfigSource> configs;
    for (const PaperLayer& layer : kPaperLayers) configs.push_back(sourceOf(layer));
    for (const ModelLayer& layer : kModelLayers) configs.push_back(sourceOf(layer));
    return configs;
  }();
  return kConfigs;
}

}  // namespace moeblaze
