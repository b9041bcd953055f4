#include "core/config/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <set>

#include "core/base/json_reader.h"
#include "tests/support/input_error.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

MoeConfig smallConfig() { return {.dModel = 64, .dFf = 256, .experts = 8, .topK = 2, .tokens = 128}; }

constexpr std::string_view kMinimal = R"({"d_model":64,"d_ff":256,"experts":8,"top_k":2,"tokens":128})";

/// The minimal file with `extra` ("\"key\": value, ...") after its keys. A key that is given again replaces the first.
std::string withKeys(std::string_view extra) {
  return fmt::format("{}, {}}}", kMinimal.substr(0, kMinimal.size() - 1), extra);
}

ConfigSource loadText(std::string_view text) { return loadConfig(TempFolder().write("conf.json", text)); }

TEST(NamedConfigs, FollowThePapersTable) {
  struct Row {
    const char* name;
    int64_t dModel, dFf, experts, topK, tokens;
  };
  for (const Row& row : {Row{"conf1", 512, 2048, 4, 1, 65536}, Row{"conf2", 1024, 4096, 8, 2, 65536},
                         Row{"conf3", 1024, 4096, 16, 4, 65536}, Row{"conf4", 2048, 8192, 16, 4, 32768},
                         Row{"conf5", 512, 2048, 16, 4, 32768}, Row{"conf6", 1024, 4096, 16, 4, 16384},
                         Row{"conf7", 2048, 8192, 8, 4, 8192}}) {
    const ConfigSource source = loadConfig(row.name);
    const MoeConfig& layer = source.layer;
    EXPECT_EQ(layer.name, row.name);
    EXPECT_EQ(layer.dModel, row.dModel) << row.name;
    EXPECT_EQ(layer.dFf, row.dFf) << row.name;
    EXPECT_EQ(layer.experts, row.experts) << row.name;
    EXPECT_EQ(layer.topK, row.topK) << row.name;
    EXPECT_EQ(layer.tokens, row.tokens) << row.name;
    EXPECT_EQ(layer.rows(), row.tokens * row.topK) << row.name;
    EXPECT_EQ(layer.activation, Activation::swiglu) << row.name;
    EXPECT_EQ(layer.dtype, DType::bf16) << row.name;
    EXPECT_EQ(layer.gateDtype, DType::fp32) << row.name;
    EXPECT_EQ(layer.sharedWidth(), 0) << row.name;
    EXPECT_EQ(source.origin, "built in");
    EXPECT_EQ(source.layers, 1);
    EXPECT_EQ(source.moeLayers, 1);
  }
}

TEST(NamedConfigs, AreValidDistinctAndFoundByName) {
  std::set<std::string> names;
  for (const ConfigSource& source : namedConfigs()) {
    EXPECT_NO_THROW(validate(source.layer, source.layer.name));
    EXPECT_TRUE(names.insert(source.layer.name).second) << source.layer.name;
    EXPECT_EQ(loadConfig(source.layer.name).layer.name, source.layer.name);
    EXPECT_LE(source.moeLayers, source.layers) << source.layer.name;
    EXPECT_GE(source.moeLayers, 1) << source.layer.name;
  }
  EXPECT_EQ(names.size(), 20u);
}

TEST(NamedConfigs, KnowModelsWithoutAFixture) {
  const ConfigSource kimi = loadConfig("kimi-k2");
  EXPECT_EQ(kimi.layer.experts, 384);
  EXPECT_EQ(kimi.layer.sharedWidth(), 2048);
  EXPECT_EQ(kimi.layer.router, Router::sigmoid);
  EXPECT_TRUE(kimi.layer.renormalize);
  EXPECT_EQ(kimi.layer.tokens, kDefaultTokens);
  EXPECT_EQ(kimi.moeLayers, 60);
  EXPECT_EQ(loadConfig("mixtral-8x22b").layer.dFf, 16384);
  EXPECT_EQ(loadConfig("qwen3-235b-a22b").layers, 94);
  EXPECT_EQ(loadConfig("gpt-oss-120b").layer.router, Router::topkSoftmax);
}

TEST(NamedConfigs, IgnoreCaseAndUnderscores) {
  EXPECT_EQ(loadConfig("Conf3").layer.name, "conf3");
  EXPECT_EQ(loadConfig("GPT_OSS_20B").layer.name, "gpt-oss-20b");
}

TEST(Validate, AcceptsTheEndsOfEachRange) {
  MoeConfig config = smallConfig();
  config.dModel = config.dFf = kMaxWidth;
  config.experts = kMaxExperts;
  config.topK = kMaxTopK;
  config.tokens = kMaxRows / kMaxTopK;
  config.capacityFactor = static_cast<double>(kMaxExperts);
  config.sharedExperts = kMaxSharedExperts;
  config.sharedDFf = kMaxWidth / kMaxSharedExperts;
  EXPECT_NO_THROW(validate(config, "big"));
  MoeConfig least = smallConfig();
  least.dModel = least.dFf = least.experts = least.topK = least.tokens = 1;
  EXPECT_NO_THROW(validate(least, "least"));
}

TEST(Validate, NamesSourceFieldValueAndRange) {
  struct Case {
    std::function<void(MoeConfig&)> spoil;
    std::string message;
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<Case> cases{
      {[](auto& c) { c.dModel = 0; }, "d_model 0 is out of range; allowed 1 to 1048576"},
      {[](auto& c) { c.dModel = kMaxWidth + 1; }, "d_model 1048577 is out of range; allowed 1 to 1048576"},
      {[](auto& c) { c.dFf = -1; }, "d_ff -1 is out of range; allowed 1 to 1048576"},
      {[](auto& c) { c.experts = 0; }, "experts 0 is out of range; allowed 1 to 65536"},
      {[](auto& c) { c.experts = kMaxExperts + 1; }, "experts 65537 is out of range; allowed 1 to 65536"},
      {[](auto& c) { c.topK = 0; }, "top_k 0 is out of range; allowed 1 to 64"},
      {[](auto& c) { c.topK = 9; }, "top_k 9 exceeds experts 8; allowed 1 to 8"},
      {[](auto& c) { c.experts = 128, c.topK = 65; }, "top_k 65 is out of range; allowed 1 to 64"},
      {[](auto& c) { c.experts = 128, c.topK = 200; }, "top_k 200 exceeds experts 128; allowed 1 to 64"},
      {[](auto& c) { c.tokens = 0; }, "tokens 0 is out of range; allowed 1 to 2147483647"},
      {[](auto& c) { c.tokens = 1073741824; },
       "tokens 1073741824 with top_k 2 is over 2147483647 routed rows; allowed 1 to 1073741823"},
      {[](auto& c) { c.tokens = std::numeric_limits<int64_t>::max(); },
       "tokens 9223372036854775807 is out of range; allowed 1 to 2147483647"},
      {[](auto& c) { c.sharedExperts = -1; }, "shared_experts -1 is out of range; allowed 0 to 1024"},
      {[](auto& c) { c.sharedExperts = 2; },
       "shared_d_ff 0 with shared_experts 2 is out of range; allowed 1 to 524288"},
      {[](auto& c) { c.sharedExperts = 2, c.sharedDFf = 524289; },
       "shared_d_ff 524289 with shared_experts 2 is out of range; allowed 1 to 524288"},
      {[](auto& c) { c.capacityFactor = 0; }, "capacity_factor 0 is out of range; allowed above 0 to 8"},
      {[](auto& c) { c.capacityFactor = 8.5; }, "capacity_factor 8.5 is out of range; allowed above 0 to 8"},
      {[](auto& c) { c.capacityFactor = std::nan(""); }, "capacity_factor nan is out of range; allowed above 0 to 8"},
      {[=](auto& c) { c.capacityFactor = infinity; }, "capacity_factor inf is out of range; allowed above 0 to 8"},
  };
  for (const Case& testCase : cases) {
    MoeConfig config = smallConfig();
    testCase.spoil(config);
    EXPECT_EQ(inputError([&] { validate(config, "conf.json"); }), "conf.json: " + testCase.message);
  }
}

TEST(ParseActivation, KnowsEveryNameAndSuggestsTheNearest) {
  for (Activation activation : kActivations) EXPECT_EQ(parseActivation(name(activation), "--activation"), activation);
  EXPECT_EQ(inputError([] { parseActivation("swiglo", "--activation"); }),
            "--activation: activation 'swiglo' is unknown; allowed: relu, silu, gelu, swiglu, geglu; did you mean "
            "'swiglu'?");
}

TEST(LoadConfig, FillsInDefaults) {
  const TempFolder folder;
  const std::string path = folder.write("tiny.json", kMinimal);
  const ConfigSource source = loadConfig(path);
  EXPECT_EQ(source.layer.name, "tiny");
  EXPECT_EQ(source.origin, path);
  EXPECT_EQ(source.layer.dModel, 64);
  EXPECT_EQ(source.layer.dFf, 256);
  EXPECT_EQ(source.layer.experts, 8);
  EXPECT_EQ(source.layer.topK, 2);
  EXPECT_EQ(source.layer.tokens, 128);
  EXPECT_EQ(source.layer.activation, Activation::swiglu);
  EXPECT_EQ(source.layer.dtype, DType::bf16);
  EXPECT_EQ(source.layer.gateDtype, DType::fp32);
  EXPECT_EQ(source.layer.sharedExperts, 0);
  EXPECT_EQ(source.layer.sharedDFf, 0);
  EXPECT_EQ(source.layer.router, Router::softmaxTopk);
  EXPECT_FALSE(source.layer.renormalize);
  EXPECT_FALSE(source.layer.capacityFactor);
  EXPECT_EQ(source.layers, 1);
}

TEST(LoadConfig, ReadsEveryKey) {
  const MoeConfig layer = loadText(withKeys(R"("activation":"gelu","dtype":"fp16","gate_dtype":"bf16",
      "shared_experts":2,"shared_d_ff":96,"router":"sigmoid","renormalize":true,"capacity_factor":1.25,"name":"mine")"))
                              .layer;
  EXPECT_EQ(layer.activation, Activation::gelu);
  EXPECT_EQ(layer.dtype, DType::fp16);
  EXPECT_EQ(layer.gateDtype, DType::bf16);
  EXPECT_EQ(layer.sharedExperts, 2);
  EXPECT_EQ(layer.sharedDFf, 96);
  EXPECT_EQ(layer.router, Router::sigmoid);
  EXPECT_TRUE(layer.renormalize);
  EXPECT_EQ(layer.capacityFactor, 1.25);
  EXPECT_EQ(layer.name, "mine");
  EXPECT_EQ(loadText(withKeys(R"("shared_experts":2)")).layer.sharedDFf, 256);
  EXPECT_FALSE(loadText(withKeys(R"("capacity_factor":null)")).layer.capacityFactor);
}

TEST(LoadConfig, RefusesWrongFields) {
  struct Case {
    std::string text, message;
  };
  for (const Case& testCase : {
           Case{withKeys(R"("top_k":9)"), "top_k 9 exceeds experts 8; allowed 1 to 8"},
           Case{withKeys(R"("top_k":900)"), "top_k 900 exceeds experts 8; allowed 1 to 8"},
           Case{withKeys(R"("d_model":-4)"), "d_model -4 is out of range; allowed 1 to 1048576"},
           Case{withKeys(R"("d_model":4.5)"), "d_model 4.5 is not a whole number; allowed: a whole number"},
           Case{withKeys(R"("d_model":"4")"), "d_model '4' is not a whole number; allowed: a whole number"},
           Case{withKeys(R"("d_model":true)"), "d_model true is not a whole number; allowed: a whole number"},
           Case{withKeys(R"("d_model":[4])"), "d_model (array) is not a whole number; allowed: a whole number"},
           Case{withKeys(R"("d_model":null)"), "d_model is missing"},
           Case{withKeys(R"("tokens":9223372036854775808)"),
                "tokens 9223372036854775808 is too large; allowed: a whole number"},
           Case{withKeys(R"("tokens":1000000000000000000000000000000)"),
                "tokens 1e+30 is too large; allowed: a whole number"},
           Case{withKeys(R"("capacity_factor":"x")"), "capacity_factor 'x' is not a number; allowed: a number"},
           Case{withKeys(R"("capacity_factor":9)"), "capacity_factor 9 is out of range; allowed above 0 to 8"},
           Case{withKeys(R"("renormalize":1)"), "renormalize 1 is not a boolean; allowed: true, false"},
           Case{withKeys(R"("name":7)"), "name 7 is not text; allowed: a string"},
           Case{withKeys(R"("dtype":"bf61")"),
                "dtype 'bf61' is unknown; allowed: bf16, fp16, fp32, fp64; did you mean 'bf16'?"},
           Case{withKeys(R"("gate_dtype":"int64")"), "gate_dtype 'int64' is unknown; allowed: bf16, fp16, fp32, fp64"},
           Case{withKeys(R"("router":"topk")"),
                "router 'topk' is unknown; allowed: softmax_topk, topk_softmax, sigmoid"},
           Case{withKeys(R"("activation":"relu6")"),
                "activation 'relu6' is unknown; allowed: relu, silu, gelu, swiglu, geglu; did you mean 'relu'?"},
           Case{withKeys(R"("d_modle":4)"),
                "unknown key 'd_modle'; allowed: d_model, d_ff, experts, top_k, tokens, shared_experts, shared_d_ff, "
                "activation, dtype, gate_dtype, router, renormalize, capacity_factor, name; did you mean 'd_model'?"},
           Case{"{}", "d_model is missing"},
           Case{R"({"d_model":64,"d_ff":256,"experts":8,"top_k":2})", "tokens is missing"},
       }) {
    const std::string message = inputError([&] { loadText(testCase.text); });
    EXPECT_THAT(message, testing::EndsWith("conf.json: " + testCase.message));
  }
}

TEST(LoadConfig, SaysWhereJsonIsBroken) {
  const auto errorOf = [](std::string_view text) { return inputError([&] { loadText(text); }); };
  EXPECT_THAT(errorOf("{\n  \"d_model\": 64,\n  \"d_ff\" 256\n}"),
              AllOf(HasSubstr("conf.json: line 3, column 12: not valid JSON near '  \"d_ff\" 256'"),
                    Not(HasSubstr("json.exception"))));
  EXPECT_THAT(errorOf("{\n  \"d_model\": 6"), HasSubstr("conf.json: line 2, column 15: the JSON ends early"));
  EXPECT_THAT(errorOf(""), HasSubstr("conf.json: line 1, column 1: the JSON ends early"));
  EXPECT_THAT(errorOf("[1]"), HasSubstr("conf.json: holds a JSON array; allowed: one object"));
  EXPECT_THAT(errorOf("{\"d_model\": NaN}"), HasSubstr("line 1, column 13: not valid JSON"));
  EXPECT_THAT(errorOf("{\"d_model\": \"\xff\"}"), HasSubstr("not valid JSON near '{\"d_model\": \"?'"));
  EXPECT_THAT(errorOf(withKeys("\"capacity_factor\": 1e999")), HasSubstr("holds a number beyond 1.8e+308"));
}

TEST(LoadConfig, RefusesEveryTruncation) {
  const std::string text = withKeys(R"("name":"a\u00e9","capacity_factor":-1.5e2)");
  for (size_t length = 0; length < text.size(); ++length) {
    EXPECT_THAT(inputError([&] { JsonReader::fromText(text.substr(0, length), "cut.json"); }),
                HasSubstr("the JSON ends early"))
        << text.substr(0, length);
  }
}

TEST(LoadConfig, BoundsDepthAndSize) {
  const auto nested = [](size_t depth) {
    return fmt::format("{{\"a\":{}{}}}", std::string(depth - 1, '['), std::string(depth - 1, ']'));
  };
  EXPECT_NO_THROW(JsonReader::fromText(nested(64), "deep.json"));
  EXPECT_EQ(inputError([&] { JsonReader::fromText(nested(65), "deep.json"); }),
            "deep.json: is nested too deep; allowed: up to 64 levels");
  EXPECT_THAT(inputError([&] { JsonReader::fromText(std::string(10'000'000, '['), "deep.json"); }),
              HasSubstr("nested too deep"));
  EXPECT_THAT(inputError([] { loadText(std::string((16 << 20) + 1, ' ')); }),
              HasSubstr("conf.json: is too large; allowed: up to 16 MiB"));
}

TEST(LoadConfig, SaysWhatAPathLacks) {
  const TempFolder folder;
  const std::string path = folder.path().string();
  EXPECT_EQ(inputError([&] { loadConfig(path); }), path + ": this folder holds no config.json");
  EXPECT_EQ(inputError([&] { loadConfig(path + "/x"); }), path + "/x: no such file");
  EXPECT_EQ(inputError([] { loadConfig("absent.json"); }), "absent.json: no such file");
  EXPECT_EQ(inputError([&] { JsonReader::fromFile(path); }), path + ": is a folder; allowed: a file");
  EXPECT_THAT(inputError([&] { JsonReader::fromFile(path + "/x"); }),
              testing::StartsWith(path + "/x: cannot be read: "));
  EXPECT_THAT(inputError([&] { loadConfig("x/" + std::string(5000, 'y')); }), HasSubstr("no such file"));
  folder.write("config.json", kMinimal);
  EXPECT_EQ(loadConfig(path).origin, path + "/config.json");
}

TEST(LoadConfig, SuggestsTheNearestName) {
  EXPECT_EQ(inputError([] { loadConfig("cnf3"); }),
            "unknown config 'cnf3'; did you mean 'conf3'? (moeblaze list configs shows the built-in ones)");
  EXPECT_EQ(inputError([] { loadConfig("zzzzzzzz"); }),
            "unknown config 'zzzzzzzz' (moeblaze list configs shows the built-in ones)");
  EXPECT_THAT(inputError([] { loadConfig("Mixtral_8x7"); }), HasSubstr("did you mean 'mixtral-8x7b'?"));
  EXPECT_THAT(inputError([] { loadConfig(""); }), HasSubstr("unknown config ''"));
}

TEST(JsonReader, NamesNestedFieldsInFull) {
  const JsonReader reader = JsonReader::fromText(R"({"curve": {"m": 7, "f": 0.5}, "n": null})", "machine.json");
  const JsonReader curve = reader.object("curve");
  EXPECT_EQ(curve.integer("m", 1, 7), 7);
  EXPECT_EQ(curve.number("f", 0, 1), 0.5);
  EXPECT_FALSE(reader.has("n"));
  EXPECT_EQ(reader.integer("n", 0, 1, 5), 5);
  EXPECT_EQ(inputError([&] { curve.integer("m", 1, 6); }), "machine.json: curve.m 7 is out of range; allowed 1 to 6");
  EXPECT_EQ(inputError([&] { curve.number("f", 1, 2); }), "machine.json: curve.f 0.5 is out of range; allowed 1 to 2");
  EXPECT_EQ(inputError([&] { curve.text("x"); }), "machine.json: curve.x is missing");
  EXPECT_EQ(inputError([&] { curve.object("m"); }), "machine.json: curve.m 7 is not an object; allowed: an object");
  EXPECT_THAT(inputError([&] { curve.refuseUnknownKeys(std::vector<std::string_view>{"m"}); }),
              HasSubstr("machine.json: unknown key 'curve.f'; allowed: m"));
}

}  // namespace
}  // namespace moeblaze
