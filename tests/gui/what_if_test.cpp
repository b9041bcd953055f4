#include "gui/whatif/what_if.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "core/base/interrupt.h"
#include "tests/support/input_error.h"
#include "tests/support/temp_file.h"

namespace moeblaze::gui {
namespace {

using testing::HasSubstr;

constexpr int64_t kGib = int64_t{1} << 30;

WhatIfAnswer answerTo(const WhatIfInputs& inputs) {
  WhatIf whatIf;
  WhatIfResult result = whatIf.evaluate(inputs);
  EXPECT_FALSE(result.problem) << result.problem->text;
  return std::move(result.answer.value());
}

WhatIfProblem problemWith(const WhatIfInputs& inputs) {
  WhatIf whatIf;
  const WhatIfResult result = whatIf.evaluate(inputs);
  EXPECT_FALSE(result.answer);
  return result.problem.value_or(WhatIfProblem{});
}

TEST(WhatIf, AnswersAsTheSimulatorDoes) {
  const WhatIfAnswer answer = answerTo({});
  const MoeConfig layer = loadConfig("conf3").layer;
  const Simulation expected = simulate(layer, Routing::balanced(layer), System::parse("moeblaze"), loadMachine("h200"));
  EXPECT_EQ(answer.simulation.memory.peak, expected.memory.peak);
  EXPECT_EQ(answer.tokens, layer.tokens);
  EXPECT_EQ(MemoryCurve(answer.trace, TrackId{0}).peak().bytes, expected.memory.peak);
  EXPECT_EQ(answer.neededBytes, expected.memory.peak + 2 * expected.weightBytes);
  EXPECT_EQ(answer.budgetBytes, loadMachine("h200").memoryBytes);
  EXPECT_EQ(answer.fits(), expected.fits());
}

TEST(WhatIf, TokensAndSkewAndRouterCount) {
  const int64_t peak = answerTo({}).simulation.memory.peak;
  EXPECT_LT(answerTo({.tokens = 1024}).simulation.memory.peak, peak / 4);
  EXPECT_GT(answerTo({.routing = "zipf:1"}).imbalance, 1.5);
  EXPECT_GT(answerTo({.withRouter = true}).simulation.memory.saved, answerTo({}).simulation.memory.saved);
  EXPECT_LT(answerTo({.system = "moeblaze-min:chunk=4"}).simulation.memory.saved, answerTo({}).simulation.memory.saved);
}

TEST(WhatIf, ReadsConfigFilesOfBothKinds) {
  EXPECT_EQ(answerTo({.config = MOEBLAZE_TEST_DATA "/hf/qwen3-30b-a3b/config.json"}).simulation.plan.config.experts,
            128);
  const TempFolder folder;
  const std::string own =
      folder.write("layer.json", R"({"d_model": 64, "d_ff": 32, "experts": 8, "top_k": 2, "tokens": 256})");
  WhatIf whatIf;
  EXPECT_EQ(whatIf.evaluate({.config = own}).answer->tokens, 256);
  folder.write("layer.json", R"({"d_model": 64, "d_ff": 32, "experts": 8, "top_k": 2, "tokens": 512})");
  EXPECT_EQ(whatIf.evaluate({.config = own}).answer->tokens, 256) << "a slider must not read files";
  whatIf.reload();
  EXPECT_EQ(whatIf.evaluate({.config = own}).answer->tokens, 512);
}

TEST(WhatIf, ProblemsAreTheCoresAndNameTheirField) {
  const auto expectProblem = [](const WhatIfInputs& inputs, WhatIfField field, const char* text) {
    const WhatIfProblem problem = problemWith(inputs);
    EXPECT_EQ(problem.field, field) << problem.text;
    EXPECT_THAT(problem.text, HasSubstr(text));
  };
  expectProblem({.config = "conf33"}, WhatIfField::config, "did you mean 'conf3'");
  expectProblem({.tokens = -1}, WhatIfField::tokens, "tokens");
  expectProblem({.system = "moeblaz"}, WhatIfField::system, "did you mean 'moeblaze'");
  expectProblem({.system = "moeblaze-min:chunk=999"}, WhatIfField::system, "chunk");
  expectProblem({.routing = "zipf:x"}, WhatIfField::routing, "zipf");
  expectProblem({.routing = "none.npy"}, WhatIfField::routing, "none.npy");
  expectProblem({.gpu = "h300"}, WhatIfField::gpu, "h300");
  expectProblem({.budgetGib = -4}, WhatIfField::budget, "-4");
}

TEST(WhatIf, BudgetSaysWhatFitsAndWithHowManyTokens) {
  const WhatIfAnswer whole = answerTo({});
  const double needed = static_cast<double>(whole.neededBytes) / static_cast<double>(kGib);
  EXPECT_TRUE(answerTo({.budgetGib = needed + 0.1}).fits());
  EXPECT_FALSE(answerTo({.budgetGib = needed - 0.1}).fits());

  WhatIf whatIf;
  const WhatIfInputs tight{.budgetGib = 4};
  const int64_t most = whatIf.mostTokens(tight, {}).value();
  WhatIfInputs atMost = tight, beyond = tight;
  atMost.tokens = most;
  beyond.tokens = most + 1;
  EXPECT_TRUE(answerTo(atMost).fits());
  EXPECT_FALSE(answerTo(beyond).fits());
  EXPECT_EQ(whatIf.mostTokens({.budgetGib = 1e-6}, {}), std::nullopt) << "the parameters alone are larger";
  EXPECT_EQ(whatIf.mostTokens({.routing = MOEBLAZE_SAMPLES "/routing_mixtral_tiny_ids.npy:0"}, {}), std::nullopt);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(whatIf.mostTokens(tight, stop.get_token()), Interrupted);
}

TEST(WhatIf, KeepsUpWithASlider) {
  WhatIf whatIf;
  WhatIfInputs inputs{.config = "deepseek-v3"};
  whatIf.evaluate(inputs);
  const auto slowest = [&](auto&& move) {
    double most = 0;
    for (int i = 0; i < 20; ++i) {
      move(i);
      const auto start = std::chrono::steady_clock::now();
      EXPECT_TRUE(whatIf.evaluate(inputs).answer);
      most = std::max(most, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return most * 1e3;
  };
  const double tokens = slowest([&](int i) { inputs.tokens = 1000 * (i + 1); });
  const double skew = slowest([&](int i) { inputs.routing = fmt::format("zipf:{:.2f}", 0.1 * (i + 1)); });
  RecordProperty("tokens_ms", std::to_string(tokens));
  RecordProperty("skew_ms", std::to_string(skew));
  EXPECT_LT(tokens, 50);
  EXPECT_LT(skew, 150) << "a shared machine; a quiet one takes a third";
}

}  // namespace
}  // namespace moeblaze::gui
