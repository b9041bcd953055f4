#include "core/routing/routing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "core/base/npy.h"
#include "tests/support/input_error.h"
#include "tests/support/npy_file.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

const std::string kSample = MOEBLAZE_SAMPLES "/routing_mixtral_tiny_ids.npy";

MoeConfig shapeOf(int64_t tokens, int64_t experts, int64_t topK) {
  return {.dModel = 8, .dFf = 8, .experts = experts, .topK = topK, .tokens = tokens};
}

/// Checks what every routing promises: ids are in range and distinct within a token, and the counts agree with them.
void expectConsistent(const Routing& routing, const MoeConfig& config) {
  ASSERT_EQ(std::ssize(routing.tokensPerExpert()), config.experts);
  std::vector<int64_t> counts(config.experts);
  for (int64_t token = 0; token < config.tokens; ++token) {
    std::set<int32_t> chosen;
    for (int64_t choice = 0; choice < config.topK; ++choice) {
      const int32_t expert = routing.expertOf(token, choice);
      ASSERT_GE(expert, 0);
      ASSERT_LT(expert, config.experts);
      ASSERT_TRUE(chosen.insert(expert).second) << "token " << token << " expert " << expert;
      ++counts[expert];
    }
  }
  EXPECT_TRUE(std::ranges::equal(counts, routing.tokensPerExpert()));
}

TEST(BalancedRouting, IsAsEvenAsIntegersAllow) {
  for (const MoeConfig& config : {shapeOf(10, 4, 3), shapeOf(1, 8, 8), shapeOf(3, 64, 2), shapeOf(64, 16, 4)}) {
    const Routing routing = parseRouting("balanced", config);
    expectConsistent(routing, config);
    const auto [low, high] = std::ranges::minmax(routing.tokensPerExpert());
    EXPECT_LE(high - low, 1);
  }
  const Routing routing = Routing::balanced(shapeOf(5, 4, 2));  // 10 rows
  EXPECT_THAT(routing.tokensPerExpert(), ElementsAre(3, 3, 2, 2));
  EXPECT_EQ(routing.text(), "balanced");
  EXPECT_DOUBLE_EQ(routing.imbalance(), 3 / 2.5);
}

TEST(ZipfRouting, IsConsistentForEverySkewAndShape) {
  for (double alpha : {0.0, 0.5, 1.2, 4.0, 16.0}) {
    for (const MoeConfig& config :
         {shapeOf(300, 8, 2), shapeOf(300, 64, 63), shapeOf(300, 64, 64), shapeOf(300, 1, 1), shapeOf(4, 65536, 64)}) {
      expectConsistent(Routing::zipf(config, alpha), config);
    }
  }
}

TEST(ZipfRouting, FollowsItsShares) {
  const MoeConfig config = shapeOf(200'000, 4, 1);
  const Routing routing = Routing::zipf(config, 1);
  const double total = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0;
  for (int rank = 1; rank <= 4; ++rank) {
    const double expected = 200'000 / (rank * total);
    EXPECT_NEAR(static_cast<double>(routing.tokensPerExpert()[rank - 1]), expected, 5 * std::sqrt(expected));
  }
  EXPECT_NEAR(routing.imbalance(), 4 / total, 0.03);
  const Routing uniform = Routing::zipf(shapeOf(50'000, 16, 4), 0);
  for (int64_t tokens : uniform.tokensPerExpert()) EXPECT_NEAR(static_cast<double>(tokens), 12'500, 600);
}

TEST(ZipfRouting, SkewGrowsWithAlpha) {
  double previous = 1;
  for (double alpha : {0.4, 0.8, 1.2, 2.0}) {
    const double imbalance = Routing::zipf(shapeOf(20'000, 32, 2), alpha).imbalance();
    EXPECT_GT(imbalance, previous);
    previous = imbalance;
  }
}

TEST(ZipfRouting, RepeatsExactly) {
  const Routing routing = parseRouting("zipf:1.2", shapeOf(4, 8, 3));
  std::vector<int32_t> ids;
  for (int64_t slot = 0; slot < 12; ++slot) ids.push_back(routing.expertOf(slot / 3, slot % 3));
  EXPECT_THAT(ids, ElementsAre(3, 0, 6, 3, 0, 1, 5, 2, 0, 0, 6, 2));
}

TEST(ZipfRouting, PrintsAlphaShortest) {
  const MoeConfig config = shapeOf(2, 4, 1);
  EXPECT_EQ(parseRouting("zipf:1.20", config).text(), "zipf:1.2");
  EXPECT_EQ(parseRouting("zipf:2", config).text(), "zipf:2");
  EXPECT_EQ(parseRouting("zipf:-0", config).text(), "zipf:0");
}

TEST(ZipfRouting, RefusesOtherAlphas) {
  const MoeConfig config = shapeOf(2, 4, 1);
  for (const char* alpha : {"", "x", "1.2x", "1,2", " 1"}) {
    EXPECT_EQ(inputError([&] { parseRouting(std::string("zipf:") + alpha, config); }),
              std::string("zipf alpha '") + alpha + "' is not a number; allowed 0 to 16");
  }
  for (const char* alpha : {"-1", "16.5", "nan", "inf"}) {
    EXPECT_EQ(inputError([&] { parseRouting(std::string("zipf:") + alpha, config); }),
              std::string("zipf alpha ") + alpha + " is out of range; allowed 0 to 16");
  }
  EXPECT_THAT(inputError([&] { parseRouting("zipf:1e999", config); }), HasSubstr("zipf alpha '1e999'"));
}

TEST(SharesRouting, DrawsProportionallyToWhatIsLeft) {
  // Worked out by hand: the chance of an expert to be drawn first, and to be drawn second after each of the others.
  const Routing routing = Routing::fromShares(shapeOf(100'000, 3, 2), std::vector{0.1, 0.6, 0.3}, "hand");
  EXPECT_NEAR(static_cast<double>(routing.tokensPerExpert()[0]), 29'286, 750);
  EXPECT_NEAR(static_cast<double>(routing.tokensPerExpert()[1]), 92'381, 750);
  EXPECT_NEAR(static_cast<double>(routing.tokensPerExpert()[2]), 78'333, 750);
}

TEST(SharesRouting, KeepsTinySharesApart) {
  // Once the first expert is chosen, the others must be drawn by their ratio, however small their shares are.
  const Routing routing = Routing::fromShares(shapeOf(30'000, 3, 2), std::vector{1e30, 2e-30, 1e-30}, "steep");
  EXPECT_EQ(routing.tokensPerExpert()[0], 30'000);
  EXPECT_NEAR(static_cast<double>(routing.tokensPerExpert()[1]), 20'000, 500);
}

TEST(SharesRouting, NeverChoosesExpertsWithoutAShare) {
  const MoeConfig config = shapeOf(1'000, 4, 2);
  const Routing routing = Routing::fromShares(config, std::vector{0.0, 0.5, 0.0, 0.5}, "two");
  EXPECT_THAT(routing.tokensPerExpert(), ElementsAre(0, 1'000, 0, 1'000));
  EXPECT_EQ(inputError([&] {
              Routing::fromShares(config, std::vector{0.0, 1.0, 0.0, 0.0}, "one");
            }),
            "one: only 1 experts have a share; allowed: at least top_k 2");
  EXPECT_EQ(inputError([&] {
              Routing::fromShares(config, std::vector{0.5, 0.5}, "short");
            }),
            "short: has 2 shares; allowed: one for each of 4 experts");
  for (double wrong : {-1.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
    EXPECT_THAT(inputError([&] {
                  Routing::fromShares(config, std::vector{1.0, wrong, 1.0, 1.0}, "wrong");
                }),
                HasSubstr("of expert 1 is out of range; allowed: 0 or more"));
  }
}

TEST(TableRouting, KeepsTheTable) {
  const MoeConfig config = shapeOf(3, 4, 2);
  const Routing routing = Routing::fromTable(config, {0, 3, 3, 1, 2, 3}, "table");
  expectConsistent(routing, config);
  EXPECT_THAT(routing.tokensPerExpert(), ElementsAre(1, 1, 1, 3));
  EXPECT_EQ(routing.expertOf(1, 0), 3);
  EXPECT_EQ(routing.expertOf(1, 1), 1);
  EXPECT_EQ(routing.text(), "table");
}

TEST(TableRouting, RefusesWrongTables) {
  const MoeConfig config = shapeOf(3, 4, 2);
  const auto errorOf = [&](std::vector<int32_t> table) {
    return inputError([&] { Routing::fromTable(config, std::move(table), "t.npy"); });
  };
  EXPECT_EQ(errorOf({0, 1}), "t.npy: has 2 ids; allowed: 6 (3 tokens x top_k 2)");
  EXPECT_EQ(errorOf({0, 1, 0, 4, 0, 1}), "t.npy: token 1 choice 1 is expert 4; allowed 0 to 3");
  EXPECT_EQ(errorOf({0, 1, 0, 1, -1, 1}), "t.npy: token 2 choice 0 is expert -1; allowed 0 to 3");
  EXPECT_EQ(errorOf({0, 1, 2, 2, 0, 1}), "t.npy: token 1 choice 1 is expert 2 again; allowed: distinct experts");
}

TEST(FileRouting, ReadsTheSample) {
  const MoeConfig config = shapeOf(16384, 16, 2);
  const NpyArray array = readNpy(kSample);
  constexpr std::array kImbalance{4.2686, 5.2266, 5.4351, 4.9575, 3.5225, 4.9868};  // computed with NumPy's bincount
  for (int64_t layer = 0; layer < 6; ++layer) {
    const std::string text = kSample + ":" + std::to_string(layer);
    const Routing routing = parseRouting(text, config);
    EXPECT_EQ(routing.text(), text);
    EXPECT_EQ(routing.expertOf(16383, 1), array.values[(layer + 1) * 16384 * 2 - 1]);
    EXPECT_NEAR(routing.imbalance(), kImbalance[layer], 1e-3);
    EXPECT_EQ(std::accumulate(routing.tokensPerExpert().begin(), routing.tokensPerExpert().end(), int64_t{0}), 32768);
  }
}

class SmallFile : public testing::Test {
 protected:
  TempFolder folder_;
  std::string flat_ = folder_.write("flat.npy", npyFile("(3, 2)", {0, 3, 3, 1, 2, 3}));
  std::string deep_ = folder_.write("deep.npy", npyFile("(2, 2, 1)", {0, 1, 2, 3}));

  std::string errorOf(const std::string& text, const MoeConfig& config) {
    return inputError([&] { parseRouting(text, config); });
  }
};

TEST_F(SmallFile, IsReadByLayer) {
  EXPECT_THAT(parseRouting(flat_, shapeOf(3, 4, 2)).tokensPerExpert(), ElementsAre(1, 1, 1, 3));
  EXPECT_THAT(parseRouting(deep_ + ":0", shapeOf(2, 4, 1)).tokensPerExpert(), ElementsAre(1, 1, 0, 0));
  EXPECT_THAT(parseRouting(deep_ + ":1", shapeOf(2, 4, 1)).tokensPerExpert(), ElementsAre(0, 0, 1, 1));
  EXPECT_EQ(parseRouting(deep_ + ":01", shapeOf(2, 4, 1)).text(), deep_ + ":1");
  const std::string colon = folder_.write("a:b.npy", npyFile("(1, 1)", {0}));
  EXPECT_EQ(parseRouting(colon, shapeOf(1, 1, 1)).text(), colon);
}

TEST_F(SmallFile, MustAgreeWithTheConfig) {
  EXPECT_EQ(errorOf(flat_, shapeOf(5, 4, 2)),
            flat_ + ": has 3 tokens, the config 5; allowed: --tokens 3, or shares:" + flat_);
  EXPECT_EQ(errorOf(flat_, shapeOf(3, 4, 1)), flat_ + ": has top_k 2, the config 1; allowed: shares:" + flat_);
  EXPECT_EQ(errorOf(flat_, shapeOf(3, 3, 2)), flat_ + ": token 0 choice 1 is expert 3; allowed 0 to 2");
  const std::string wide = folder_.write("wide.npy", npyFile("(1, 1)", {int64_t{1} << 32}));
  EXPECT_EQ(errorOf(wide, shapeOf(1, 4, 1)), wide + ": token 0 choice 0 is expert 4294967296; allowed 0 to 3");
}

TEST_F(SmallFile, NeedsTheRightLayer) {
  const MoeConfig config = shapeOf(2, 4, 1);
  EXPECT_EQ(errorOf(deep_, config), deep_ + ": layer is missing; allowed: " + deep_ + ":0 to " + deep_ + ":1");
  EXPECT_EQ(errorOf(deep_ + ":2", config), deep_ + ":2: layer 2 is out of range; allowed 0 to 1");
  EXPECT_THAT(errorOf(deep_ + ":99999999999999999999", config), EndsWith("is out of range; allowed 0 to 1"));
  EXPECT_EQ(errorOf(flat_ + ":0", shapeOf(3, 4, 2)), flat_ + ":0: layer 0 of a file of one layer; allowed: " + flat_);
  EXPECT_THAT(errorOf(flat_ + ":x", config), HasSubstr("unknown routing"));
}

TEST_F(SmallFile, NeedsTwoOrThreeDimensions) {
  const std::string line = folder_.write("line.npy", npyFile("(2,)", {0, 1}));
  EXPECT_EQ(errorOf(line, shapeOf(2, 4, 1)),
            line + ": has 1 dimensions; allowed: [tokens, top_k] or [layers, tokens, top_k]");
  const std::string empty = folder_.write("empty.npy", npyFile("(0, 2, 2)", {}));
  EXPECT_EQ(errorOf(empty + ":0", shapeOf(2, 4, 2)), empty + ": holds no expert ids; its shape is 0 x 2 x 2");
}

/// Shares of the experts in `routing`, which drew one expert per token.
std::vector<double> sharesOf(const Routing& routing, int64_t tokens) {
  std::vector<double> shares;
  for (int64_t count : routing.tokensPerExpert()) {
    shares.push_back(static_cast<double>(count) / static_cast<double>(tokens));
  }
  return shares;
}

TEST_F(SmallFile, GivesSharesLargestFirst) {
  // The ids 0, 3, 3, 1, 2, 3 have the sorted shares 1/2, 1/6, 1/6, 1/6.
  constexpr int64_t kTokens = 60'000;
  const auto sharesFor = [&](int64_t experts) {
    const Routing routing = parseRouting("shares:" + flat_, shapeOf(kTokens, experts, 1));
    EXPECT_EQ(routing.text(), "shares:" + flat_);
    return sharesOf(routing, kTokens);
  };
  using testing::DoubleNear;
  EXPECT_THAT(sharesFor(4), ElementsAre(DoubleNear(1 / 2.0, .01), DoubleNear(1 / 6.0, .01), DoubleNear(1 / 6.0, .01),
                                        DoubleNear(1 / 6.0, .01)));
  EXPECT_THAT(sharesFor(2), ElementsAre(DoubleNear(2 / 3.0, .01), DoubleNear(1 / 3.0, .01)));
  // The first of three experts gets the first share and a third of the second.
  EXPECT_THAT(sharesFor(3), ElementsAre(DoubleNear(5 / 9.0, .01), DoubleNear(2 / 9.0, .01), DoubleNear(2 / 9.0, .01)));
  const std::vector<double> split = sharesFor(8);
  EXPECT_NEAR(split[0], 1 / 4.0, .01);
  EXPECT_NEAR(split[1], 1 / 4.0, .01);
  EXPECT_NEAR(split[7], 1 / 12.0, .01);
}

TEST_F(SmallFile, BoundsTheIdsOfShares) {
  const std::string far = folder_.write("far.npy", npyFile("(1, 2)", {0, 65536}));
  EXPECT_EQ(errorOf("shares:" + far, shapeOf(1, 2, 1)), far + ": token 0 choice 1 is expert 65536; allowed 0 to 65535");
  const std::string negative = folder_.write("negative.npy", npyFile("(1, 1)", {-1}));
  EXPECT_THAT(errorOf("shares:" + negative, shapeOf(1, 2, 1)), HasSubstr("is expert -1; allowed 0 to 65535"));
  const std::string one = folder_.write("one.npy", npyFile("(2, 1)", {3, 3}));
  EXPECT_EQ(errorOf("shares:" + one, shapeOf(5, 4, 2)),
            "shares:" + one + ": only 1 experts have a share; allowed: at least top_k 2");
}

TEST(FileRouting, SharesKeepTheSamplesSkewForAnyConfig) {
  for (int64_t layer = 0; layer < 6; ++layer) {
    const std::string file = kSample + ":" + std::to_string(layer);
    const Routing table = parseRouting(file, shapeOf(16384, 16, 2));
    const MoeConfig config = shapeOf(40'000, 16, 1);
    const Routing drawn = parseRouting("shares:" + file, config);
    expectConsistent(drawn, config);
    EXPECT_NEAR(drawn.imbalance(), table.imbalance(), 0.1);
    EXPECT_EQ(drawn.text(), "shares:" + file);
    const MoeConfig wide = shapeOf(1'000, 128, 8);
    expectConsistent(parseRouting("shares:" + file, wide), wide);
  }
}

TEST(RoutingMismatch, IsEmptyWhenIdsAgreeWithTheCounts) {
  const MoeConfig config = shapeOf(3, 4, 2);
  const std::vector<int32_t> ids{0, 3, 3, 1, 2, 3};
  const Routing routing = Routing::fromTable(config, ids, "table");
  EXPECT_EQ(routingMismatch(routing.tokensPerExpert(), ids), "");
  EXPECT_EQ(routingMismatch(std::vector<int64_t>{}, std::vector<int32_t>{}), "");
}

TEST(RoutingMismatch, NamesTheExpertAndBothCounts) {
  const std::vector<int64_t> counts{1, 1, 1, 3};
  EXPECT_EQ(routingMismatch(counts, std::vector<int32_t>{0, 3, 3, 1, 2, 2}),
            "expert 2 has 2 tokens in the table of ids, 1 in the Plan");
  EXPECT_EQ(routingMismatch(counts, std::vector<int32_t>{0, 3, 3, 1, 2}),
            "expert 3 has 2 tokens in the table of ids, 3 in the Plan");
  EXPECT_EQ(routingMismatch(counts, std::vector<int32_t>{0, 3, 4, 1, 2, 3}),
            "slot 2 has expert 4, the Plan has experts 0 to 3");
  EXPECT_EQ(routingMismatch(counts, std::vector<int32_t>{-1}), "slot 0 has expert -1, the Plan has experts 0 to 3");
}

TEST(ParseRouting, SuggestsTheNearestWord) {
  const MoeConfig config = shapeOf(2, 4, 1);
  constexpr std::string_view kAllowed = "allowed: balanced, zipf:<alpha>, FILE.npy[:layer], shares:FILE.npy[:layer]";
  const auto errorOf = [&](std::string_view text) { return inputError([&] { parseRouting(text, config); }); };
  EXPECT_EQ(errorOf("balancd"), "unknown routing 'balancd'; " + std::string(kAllowed) + "; did you mean 'balanced'?");
  EXPECT_EQ(errorOf("zipf"), "unknown routing 'zipf'; " + std::string(kAllowed) + "; did you mean 'zipf:'?");
  EXPECT_EQ(errorOf(""), "unknown routing ''; " + std::string(kAllowed));
  EXPECT_THAT(errorOf("shares:"), HasSubstr("unknown routing 'shares:'"));
  EXPECT_THAT(errorOf("none.npy:3"), HasSubstr("none.npy: cannot be read: No such file"));
  EXPECT_THAT(errorOf(MOEBLAZE_SAMPLES), HasSubstr("is a folder; allowed: a file"));
}

}  // namespace
}  // namespace moeblaze
