#include "core/config/config_hf.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "tests/support/input_error.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

using nlohmann::json;
using testing::EndsWith;
using testing::HasSubstr;

const std::string kFixtures = MOEBLAZE_TEST_DATA "/hf/";

ConfigSource read(const json& config, const std::string& path = "config.json") {
  return readHuggingFace(JsonReader::fromText(config.dump(), path), path);
}

json fixture(const std::string& model) { return json::parse(std::ifstream(kFixtures + model + "/config.json")); }

/// The published file of `model` with some keys replaced; a null value stands for an absent key.
json changed(const std::string& model, const json& changes) {
  json config = fixture(model);
  config.update(changes);
  return config;
}

std::string errorOf(const json& config) {
  return inputError([&] { read(config); });
}

class BuiltInModel : public testing::TestWithParam<const char*> {};

TEST_P(BuiltInModel, EqualsItsPublishedFile) {
  const ConfigSource builtIn = loadConfig(GetParam());
  const ConfigSource file = loadConfig(kFixtures + GetParam());
  EXPECT_EQ(file.layer.name, builtIn.layer.name);
  EXPECT_EQ(file.layer.dModel, builtIn.layer.dModel);
  EXPECT_EQ(file.layer.dFf, builtIn.layer.dFf);
  EXPECT_EQ(file.layer.experts, builtIn.layer.experts);
  EXPECT_EQ(file.layer.topK, builtIn.layer.topK);
  EXPECT_EQ(file.layer.tokens, builtIn.layer.tokens);
  EXPECT_EQ(file.layer.activation, builtIn.layer.activation);
  EXPECT_EQ(file.layer.dtype, builtIn.layer.dtype);
  EXPECT_EQ(file.layer.gateDtype, builtIn.layer.gateDtype);
  EXPECT_EQ(file.layer.sharedExperts, builtIn.layer.sharedExperts);
  EXPECT_EQ(file.layer.sharedDFf, builtIn.layer.sharedDFf);
  EXPECT_EQ(file.layer.router, builtIn.layer.router);
  EXPECT_EQ(file.layer.renormalize, builtIn.layer.renormalize);
  EXPECT_EQ(file.layer.capacityFactor, builtIn.layer.capacityFactor);
  EXPECT_EQ(file.layers, builtIn.layers);
  EXPECT_EQ(file.moeLayers, builtIn.moeLayers);
  EXPECT_EQ(file.origin, kFixtures + GetParam() + "/config.json");
}

INSTANTIATE_TEST_SUITE_P(Published, BuiltInModel,
                         testing::Values("mixtral-8x7b", "qwen3-30b-a3b", "deepseek-v2-lite", "deepseek-v3",
                                         "olmoe-1b-7b", "gpt-oss-20b", "phi-3.5-moe", "llama-4-scout", "glm-4.5"));

TEST(HuggingFace, ReadsQwen2WithItsSharedExpert) {
  const ConfigSource source = loadConfig(kFixtures + "qwen2-57b-a14b/config.json");
  EXPECT_EQ(source.layer.name, "qwen2-57b-a14b");
  EXPECT_EQ(source.layer.dModel, 3584);
  EXPECT_EQ(source.layer.dFf, 2560);
  EXPECT_EQ(source.layer.experts, 64);
  EXPECT_EQ(source.layer.topK, 8);
  EXPECT_EQ(source.layer.sharedExperts, 1);
  EXPECT_EQ(source.layer.sharedDFf, 20480);
  EXPECT_FALSE(source.layer.renormalize);
  EXPECT_EQ(source.moeLayers, 28);
}

TEST(HuggingFace, ReadsGranite) {
  const ConfigSource source = loadConfig(kFixtures + "granite-3.0-1b-a400m");
  EXPECT_EQ(source.layer.dModel, 1024);
  EXPECT_EQ(source.layer.dFf, 512);
  EXPECT_EQ(source.layer.experts, 32);
  EXPECT_EQ(source.layer.topK, 8);
  EXPECT_EQ(source.layer.router, Router::topkSoftmax);
  EXPECT_EQ(source.layer.sharedExperts, 0);
  EXPECT_EQ(source.moeLayers, 24);
}

TEST(HuggingFace, ReadsFamiliesThatShareAFixture) {
  const json shared{{"shared_intermediate_size", 1024}};
  for (const char* type : {"granitemoeshared", "granitemoehybrid"}) {
    json config = changed("granite-3.0-1b-a400m", shared);
    config["model_type"] = type;
    EXPECT_EQ(read(config).layer.sharedExperts, 1) << type;
    EXPECT_EQ(read(config).layer.sharedDFf, 1024) << type;
    config["shared_intermediate_size"] = 0;
    EXPECT_EQ(read(config).layer.sharedExperts, 0) << type;
  }
  const json kimi{{"model_type", "kimi_k2"}, {"first_k_dense_replace", 1}, {"n_routed_experts", 384}};
  EXPECT_EQ(read(changed("deepseek-v3", kimi)).moeLayers, loadConfig("kimi-k2").moeLayers);
  json text = fixture("llama-4-scout")["text_config"];
  EXPECT_EQ(read(text).layer.sharedDFf, 8192);
  EXPECT_EQ(read(text).moeLayers, 48);
}

TEST(HuggingFace, KnowsFamiliesByArchitecture) {
  for (const auto& entry : std::filesystem::directory_iterator(kFixtures)) {
    const std::string model = entry.path().filename().string();
    json config = changed(model, {{"_name_or_path", model}});
    const ConfigSource byType = read(config);
    config["model_type"] = nullptr;
    const ConfigSource byArchitecture = read(config);
    EXPECT_EQ(byArchitecture.layer.dFf, byType.layer.dFf) << model;
    EXPECT_EQ(byArchitecture.layer.router, byType.layer.router) << model;
    EXPECT_EQ(byArchitecture.moeLayers, byType.moeLayers) << model;
  }
  EXPECT_THAT(errorOf({{"architectures", {"LlamaForCausalLM"}}}), HasSubstr("architectures 'LlamaForCausalLM'"));
  for (const json& none : {json::array(), json("MixtralForCausalLM"), json{1}}) {
    EXPECT_THAT(errorOf({{"architectures", none}}), HasSubstr("architectures names no architecture; allowed: a list"));
  }
}

TEST(HuggingFace, CountsMoeLayersAsEachFamilyDoes) {
  struct Case {
    const char* model;
    json changes;
    int64_t moeLayers;
  };
  for (const Case& testCase : {
           Case{"qwen3-30b-a3b", {{"decoder_sparse_step", 2}}, 24},
           Case{"qwen3-30b-a3b", {{"decoder_sparse_step", 5}}, 9},
           Case{"qwen3-30b-a3b", {{"mlp_only_layers", {0, 1, 2}}}, 45},
           Case{"qwen3-30b-a3b", {{"decoder_sparse_step", 2}, {"mlp_only_layers", {0, 1, 3, 3}}}, 22},
           Case{"qwen3-30b-a3b", {{"decoder_sparse_step", nullptr}, {"mlp_only_layers", nullptr}}, 48},
           Case{"deepseek-v3", {{"moe_layer_freq", nullptr}}, 58},
           Case{"deepseek-v3", {{"first_k_dense_replace", 0}, {"moe_layer_freq", 2}}, 31},  // 0, 2, ..., 60
           Case{"deepseek-v3", {{"first_k_dense_replace", 3}, {"moe_layer_freq", 2}}, 29},  // 4, 6, ..., 60
           Case{"deepseek-v3", {{"first_k_dense_replace", 60}, {"moe_layer_freq", 5}}, 1},  // 60
           Case{"mixtral-8x7b", {{"num_hidden_layers", 100000}}, 100000},
       }) {
    EXPECT_EQ(read(changed(testCase.model, testCase.changes)).moeLayers, testCase.moeLayers) << testCase.changes;
  }
  json maverick = fixture("llama-4-scout");
  maverick["text_config"].erase("moe_layers");
  maverick["text_config"]["interleave_moe_layer_step"] = 2;
  EXPECT_EQ(read(maverick).moeLayers, 24);
  maverick["text_config"]["moe_layers"] = {1, 3, 47};
  EXPECT_EQ(read(maverick).moeLayers, 3);
}

TEST(HuggingFace, RefusesWrongLayerCounts) {
  EXPECT_EQ(errorOf(changed("deepseek-v3", {{"first_k_dense_replace", 61}})),
            "config.json: num_hidden_layers 61 includes no MoE layer; allowed: 1 or more");
  EXPECT_EQ(errorOf(changed("mixtral-8x7b", {{"num_hidden_layers", 100001}})),
            "config.json: num_hidden_layers 100001 is out of range; allowed 1 to 100000");
  EXPECT_EQ(errorOf(changed("qwen3-30b-a3b", {{"mlp_only_layers", {48}}})),
            "config.json: mlp_only_layers holds '48'; allowed: layers 0 to 47");
  EXPECT_EQ(errorOf(changed("qwen3-30b-a3b", {{"mlp_only_layers", {-1}}})),
            "config.json: mlp_only_layers holds '-1'; allowed: layers 0 to 47");
  EXPECT_EQ(errorOf(changed("qwen3-30b-a3b", {{"mlp_only_layers", 3}})),
            "config.json: mlp_only_layers is not a list; allowed: a list of layer numbers");
  EXPECT_EQ(errorOf(changed("qwen3-30b-a3b", {{"decoder_sparse_step", 0}})),
            "config.json: decoder_sparse_step 0 is out of range; allowed 1 to 100000");
}

TEST(HuggingFace, NamesMissingAndWrongKeys) {
  for (const char* key : {"hidden_size", "n_routed_experts", "moe_intermediate_size", "num_experts_per_tok",
                          "num_hidden_layers", "first_k_dense_replace"}) {
    EXPECT_EQ(errorOf(changed("deepseek-v3", {{key, nullptr}})), std::string("config.json: ") + key + " is missing");
    json erased = fixture("deepseek-v3");
    erased.erase(key);
    EXPECT_EQ(errorOf(erased), std::string("config.json: ") + key + " is missing");
  }
  EXPECT_EQ(errorOf(changed("qwen2-57b-a14b", {{"shared_expert_intermediate_size", nullptr}})),
            "config.json: shared_expert_intermediate_size is missing");
  EXPECT_EQ(errorOf(changed("mixtral-8x7b", {{"num_experts_per_tok", 9}})),
            "config.json: num_experts_per_tok 9 is out of range; allowed 1 to 8");
  EXPECT_EQ(errorOf(changed("mixtral-8x7b", {{"num_local_experts", 0}})),
            "config.json: num_local_experts 0 is out of range; allowed 1 to 65536");
  json llama = fixture("llama-4-scout");
  llama["text_config"].erase("hidden_size");
  EXPECT_EQ(errorOf(llama), "config.json: text_config.hidden_size is missing");
  EXPECT_EQ(errorOf({{"model_type", "llama4"}, {"text_config", 3}}),
            "config.json: text_config 3 is not an object; allowed: an object");
}

TEST(HuggingFace, RefusesUnknownFamilies) {
  EXPECT_EQ(errorOf({{"model_type", "mixtrall"}}),
            "config.json: model_type 'mixtrall' is not a MoE family this toolkit reads; allowed: mixtral, qwen2_moe, "
            "qwen3_moe, deepseek_v2, deepseek_v3, kimi_k2, glm4_moe, olmoe, gpt_oss, phimoe, granitemoe, "
            "granitemoeshared, granitemoehybrid, llama4, llama4_text; did you mean 'mixtral'?");
  EXPECT_EQ(errorOf({{"model_type", 3}}), "config.json: model_type 3 is not text; allowed: a string");
}

TEST(HuggingFace, MapsActivations) {
  const auto activation = [](const json& changes) { return read(changed("mixtral-8x7b", changes)).layer.activation; };
  EXPECT_EQ(activation({{"hidden_act", "swish"}}), Activation::swiglu);
  EXPECT_EQ(activation({{"hidden_act", "gelu"}}), Activation::geglu);
  EXPECT_EQ(activation({{"hidden_act", nullptr}, {"hidden_activation", "gelu"}}), Activation::geglu);
  EXPECT_EQ(activation({{"hidden_act", nullptr}}), Activation::swiglu);
  EXPECT_EQ(errorOf(changed("mixtral-8x7b", {{"hidden_act", "relu2"}})),
            "config.json: hidden_act 'relu2' is not an activation this toolkit has; allowed: silu, gelu");
}

TEST(HuggingFace, MapsDtypes) {
  const auto dtype = [](const json& changes) { return read(changed("mixtral-8x7b", changes)).layer.dtype; };
  EXPECT_EQ(dtype({{"torch_dtype", "float16"}}), DType::fp16);
  EXPECT_EQ(dtype({{"torch_dtype", nullptr}, {"dtype", "float32"}}), DType::fp32);
  EXPECT_EQ(dtype({{"torch_dtype", "auto"}}), DType::bf16);
  EXPECT_EQ(dtype({{"torch_dtype", nullptr}}), DType::bf16);
  EXPECT_EQ(errorOf(changed("mixtral-8x7b", {{"torch_dtype", "int8"}})),
            "config.json: torch_dtype 'int8' is not a dtype this toolkit has; allowed: bfloat16, float16, float32");
  json llama = fixture("llama-4-scout");
  llama["text_config"].erase("torch_dtype");
  llama["torch_dtype"] = "float16";
  EXPECT_EQ(read(llama).layer.dtype, DType::fp16);
}

TEST(HuggingFace, FollowsRouterKeys) {
  const auto layer = [](const char* model, const json& changes) { return read(changed(model, changes)).layer; };
  EXPECT_EQ(layer("deepseek-v3", {{"scoring_func", "softmax"}}).router, Router::softmaxTopk);
  EXPECT_EQ(layer("deepseek-v3", {{"scoring_func", nullptr}}).router, Router::sigmoid);
  EXPECT_FALSE(layer("deepseek-v3", {{"norm_topk_prob", false}}).renormalize);
  EXPECT_TRUE(layer("deepseek-v3", {{"norm_topk_prob", nullptr}}).renormalize);
  EXPECT_FALSE(layer("qwen3-30b-a3b", {{"norm_topk_prob", nullptr}}).renormalize);
  EXPECT_TRUE(layer("olmoe-1b-7b", {{"norm_topk_prob", true}}).renormalize);
  EXPECT_EQ(layer("deepseek-v3", {{"n_shared_experts", nullptr}}).sharedExperts, 0);
  EXPECT_EQ(layer("deepseek-v3", {{"n_shared_experts", 0}}).sharedDFf, 0);
  EXPECT_EQ(errorOf(changed("deepseek-v3", {{"scoring_func", "tanh"}})),
            "config.json: scoring_func 'tanh' is not a router this toolkit has; allowed: softmax, sigmoid");
}

TEST(HuggingFace, NamesTheModel) {
  const json plain = fixture("mixtral-8x7b");
  const json published = changed("mixtral-8x7b", {{"_name_or_path", "mistralai/Mixtral-8x7B-v0.1"}});
  EXPECT_EQ(read(published).layer.name, "Mixtral-8x7B-v0.1");
  EXPECT_EQ(read(plain, "models/big/config.json").layer.name, "big");
  EXPECT_EQ(read(plain, "models/mine.json").layer.name, "mine");
  EXPECT_EQ(read(plain).layer.name, std::filesystem::current_path().filename().string());
}

TEST(HuggingFace, StaysWithinTheLayersLimits) {
  const TempFolder folder;
  const json wide = changed("deepseek-v3", {{"n_shared_experts", 1024}});
  EXPECT_THAT(inputError([&] { loadConfig(folder.write("config.json", wide.dump())); }),
              EndsWith("config.json: shared_d_ff 2048 with shared_experts 1024 is out of range; allowed 1 to 1024"));
}

}  // namespace
}  // namespace moeblaze
