// Properties of every system's Plan, and the formulas for saved bytes that the peers' code gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "core/base/error.h"
#include "core/plan/buffer_names.h"
#include "core/systems/system.h"

namespace moeblaze {
namespace {

using testing::IsEmpty;

std::vector<MoeConfig> shapes() {
  return {{.name = "odd", .dModel = 24, .dFf = 40, .experts = 5, .topK = 3, .tokens = 37},
          {.name = "one", .dModel = 16, .dFf = 8, .experts = 1, .topK = 1, .tokens = 1},
          {.name = "wide", .dModel = 64, .dFf = 300, .experts = 32, .topK = 1, .tokens = 1000},
          {.name = "fine", .dModel = 2048, .dFf = 768, .experts = 128, .topK = 8, .tokens = 4096}};
}

std::vector<std::string> allSystems() {
  std::vector<std::string> names{"momoe:save=100", "moeblaze-paper:preactivation=fp32", "moeblaze-min:chunk=1"};
  for (const SystemInfo& info : systems()) names.emplace_back(info.name);
  return names;
}

Plan planOf(const MoeConfig& config, const std::string& system, PlanOptions options = {}) {
  return buildPlan(config, Routing::balanced(config), System::parse(system), options);
}
int64_t savedBytes(const MoeConfig& config, const std::string& system) {
  return memoryFigures(planOf(config, system)).saved;
}

double flops(const Plan& plan, Phase phase) {
  double sum = 0;
  for (const Step& step : plan.steps) sum += step.phase == phase ? step.flops : 0;
  return sum;
}

class EverySystem : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Systems, EverySystem, testing::ValuesIn(allSystems()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST_P(EverySystem, PlansAreSound) {
  for (MoeConfig config : shapes())
    for (Activation activation : kActivations)
      for (int64_t shared : {0, 2})
        for (bool router : {false, true}) {
          config.activation = activation;
          config.sharedExperts = shared;
          config.sharedDFf = 24;
          EXPECT_THAT(checkPlan(planOf(config, GetParam(), {router})), IsEmpty())
              << config.name << " " << name(activation) << " shared " << shared << " router " << router;
        }
}

TEST_P(EverySystem, ProducesEveryGradient) {
  for (Activation activation : {Activation::silu, Activation::swiglu}) {
    MoeConfig config = shapes()[0];
    config.activation = activation;
    config.sharedExperts = 1, config.sharedDFf = 8;
    const Plan plan = planOf(config, GetParam(), {.withRouter = true});
    int64_t weights = 0, gradients = 0;
    for (const Buffer& buffer : plan.buffers) {
      if (buffer.role == Role::weight) weights += buffer.bytes;
      if (buffer.role == Role::gradient && buffer.name.starts_with("dW")) gradients += buffer.bytes;
    }
    EXPECT_EQ(weights, gradients);
    const int64_t experts = (config.upProjections() + 1) * config.dModel * (config.experts * config.dFf + 8);
    EXPECT_EQ(weights, 2 * (experts + config.dModel * config.experts));
  }
}

// Each of the three products takes 2·R·d·h FLOPs in forward and twice that in backward. What goes beyond is
// recomputation.
TEST_P(EverySystem, ArithmeticIsTheLayersOwn) {
  for (const MoeConfig& config : shapes()) {
    const Plan plan = planOf(config, GetParam());
    const int64_t rows = std::accumulate(plan.rowsPerExpert.begin(), plan.rowsPerExpert.end(), int64_t{0});
    EXPECT_EQ(rows, config.rows() + wasteOf(plan).paddedRows - wasteOf(plan).droppedSlots);
    const double product = 2.0 * static_cast<double>(rows * config.dModel * config.dFf);
    EXPECT_DOUBLE_EQ(flops(plan, Phase::forward), 3 * product);
    double recomputed = 0;
    if (plan.system.starts_with("moeblaze-min")) recomputed = 2;
    if (plan.system == "momoe:save=0") recomputed = 3;
    EXPECT_DOUBLE_EQ(flops(plan, Phase::backward), (6 + recomputed) * product);
  }
}

TEST_P(EverySystem, SharedExpertsAddTheirIntermediates) {
  for (MoeConfig config : shapes()) {
    const MemoryFigures without = memoryFigures(planOf(config, GetParam()));
    config.sharedExperts = 2, config.sharedDFf = 24;
    const MemoryFigures with = memoryFigures(planOf(config, GetParam()));
    const int64_t one = 2 * config.tokens * 48;
    const std::string& system = GetParam();
    const int64_t kept = system.starts_with("moeblaze-min")                                   ? 0
                         : system == "moeblaze" || system == "sonicmoe" || system == "custom" ? 2
                         : system == "moeblaze-paper"                                         ? 3
                         : system.starts_with("moeblaze-paper") ? 5  // A and B are twice as wide
                                                                : 4;
    EXPECT_EQ(with.intermediates - without.intermediates, kept * one);
  }
}

TEST_P(EverySystem, RouterIsExcludedUnlessAsked) {
  const MoeConfig config = shapes()[3];
  for (const Buffer& buffer : planOf(config, GetParam()).buffers) EXPECT_FALSE(buffer.router) << buffer.name;
  const Plan plan = planOf(config, GetParam(), {.withRouter = true});
  const auto scores = std::ranges::find(plan.buffers, buffer_names::kRouterScores, &Buffer::name);
  ASSERT_NE(scores, plan.buffers.end());
  EXPECT_EQ(scores->role, Role::saved);
  EXPECT_EQ(scores->bytes, 4 * config.tokens * config.experts);
}

TEST_P(EverySystem, RouterSavesTheSameWhetherPlannedOrNot) {
  for (MoeConfig config : shapes())
    for (Router router : kRouters) {
      config.router = router;
      const Plan without = planOf(config, GetParam()), with = planOf(config, GetParam(), {.withRouter = true});
      const int64_t difference = memoryFigures(with).saved - memoryFigures(without).saved;
      EXPECT_EQ(routerSavedBytes(without), difference) << config.name;
      EXPECT_EQ(routerSavedBytes(with), difference) << config.name;
    }
}

// --- The systems of this toolkit, to the byte ---

TEST(Moeblaze, SavesInputProjectionsAndIndicesOnly) {
  for (const MoeConfig& c : shapes()) {
    const int64_t r = c.rows();
    const int64_t index = 4 * (r + (c.experts + 1) + r + r), gates = 4 * r;
    const MemoryFigures figures = memoryFigures(planOf(c, "moeblaze"));
    EXPECT_EQ(figures.saved, 2 * c.tokens * c.dModel + 4 * r * c.dFf + index + gates);
    EXPECT_EQ(figures.intermediates, 4 * r * c.dFf);
    EXPECT_EQ(figures.index, index);
    EXPECT_EQ(savedBytes(c, "moeblaze-paper"), figures.saved + 2 * r * c.dFf);
    EXPECT_EQ(savedBytes(c, "moeblaze-paper:preactivation=fp32"), figures.saved + 6 * r * c.dFf);
    EXPECT_EQ(savedBytes(c, "moeblaze-min"), figures.saved - 4 * r * c.dFf);
  }
}

TEST(Moeblaze, NoRoutedCopyOfInputOrOutputGradient) {
  const MoeConfig config = shapes()[3];
  for (const char* system : {"moeblaze", "moeblaze-paper", "moeblaze-min:chunk=3"})
    for (const Buffer& buffer : planOf(config, system).buffers) {
      EXPECT_EQ(buffer.name.find("permuted"), std::string::npos) << buffer.name;
      for (int64_t extent : buffer.shape.extents())
        EXPECT_LE(extent, std::max(config.rows(), config.tokens)) << buffer.name;
    }
}

TEST(Moeblaze, GradientsOfProjectionsOverwriteThem) {
  const Plan plan = planOf(shapes()[0], "moeblaze");
  int aliases = 0;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.aliasOf != BufferId::none) {
      ++aliases;
      EXPECT_EQ("d" + plan.buffer(buffer.aliasOf).name, buffer.name);
    }
  EXPECT_EQ(aliases, 2);
}

TEST(MoeblazeMin, ChunksLowerThePeakAndChangeNothingElse) {
  MoeConfig config = shapes()[3];
  config.tokens = 65536;  // enough for rows to dominate the peak instead of weight gradients
  const Plan whole = planOf(config, "moeblaze-min");
  int64_t previous = memoryFigures(whole).peak;
  EXPECT_LT(memoryFigures(planOf(config, "moeblaze-min:chunk=16")).peak, previous);
  for (const char* chunk : {"64", "10", "1"}) {
    const Plan plan = planOf(config, std::string("moeblaze-min:chunk=") + chunk);
    EXPECT_LE(memoryFigures(plan).peak, previous) << chunk;
    previous = memoryFigures(plan).peak;
    EXPECT_EQ(memoryFigures(plan).saved, memoryFigures(whole).saved);
    EXPECT_DOUBLE_EQ(flops(plan, Phase::backward), flops(whole, Phase::backward));
    int64_t rows = 0;
    for (const Buffer& buffer : plan.buffers)
      if (buffer.name.starts_with("Y.scaled")) rows += buffer.shape.extents()[0];
    EXPECT_EQ(rows, config.rows());
  }
}

TEST(MoeblazeMin, EmptyExpertsMakeEmptyChunks) {
  MoeConfig config{.name = "skew", .dModel = 8, .dFf = 8, .experts = 4, .topK = 1, .tokens = 10};
  const Routing routing = Routing::fromTable(config, std::vector<int32_t>(10, 2), "all to one");
  const Plan plan = buildPlan(config, routing, System::parse("moeblaze-min:chunk=1"));
  EXPECT_THAT(checkPlan(plan), IsEmpty());
  EXPECT_DOUBLE_EQ(flops(plan, Phase::forward), 3 * 2.0 * 10 * 8 * 8);
}

TEST(MoeblazeMin, ChunkMustFitTheExperts) {
  EXPECT_THROW(planOf(shapes()[0], "moeblaze-min:chunk=6"), InputError);
  EXPECT_NO_THROW(planOf(shapes()[0], "moeblaze-min:chunk=5"));
}

// --- Peers: formulas read from each system's code, independently of the Plans ---

TEST(Peers, SavedBytesFollowTheirCode) {
  for (const MoeConfig& c : shapes()) {
    const int64_t n = c.rows(), d = c.dModel, h = c.dFf, l = c.tokens, e = c.experts;
    EXPECT_EQ(savedBytes(c, "megablocks"), 2 * n * (2 * d + 4 * h) + 10 * n + 4 * e);
    EXPECT_EQ(savedBytes(c, "megablocks-memopt"), 2 * n * (2 * d + 2 * h) + 10 * n + 4 * e);
    EXPECT_EQ(savedBytes(c, "scattermoe"), 2 * l * d + 2 * n * (d + 4 * h) + 18 * n + 8 * e);
    EXPECT_EQ(savedBytes(c, "torch"), 2 * n * (3 * d + 4 * h) + 18 * n + 4 * e);
    EXPECT_EQ(savedBytes(c, "momoe"), 2 * l * d + 2 * e * l + 8 * n + 4 * (e + 1));
    EXPECT_EQ(savedBytes(c, "momoe:save=100"), 2 * l * d + 2 * e * l + 8 * n + 4 * (e + 1) + n * (4 * h + 2 * d));
  }
}

TEST(Peers, WithoutGateOneProjectionIsKept) {
  MoeConfig c = shapes()[0];
  c.activation = Activation::gelu;
  const int64_t n = c.rows(), d = c.dModel, h = c.dFf;
  EXPECT_EQ(savedBytes(c, "megablocks"), 2 * n * (2 * d + 2 * h) + 10 * n + 4 * c.experts);
  EXPECT_EQ(savedBytes(c, "torch"), 2 * n * (3 * d + 2 * h) + 18 * n + 4 * c.experts);
  EXPECT_EQ(savedBytes(c, "moeblaze"), 2 * c.tokens * d + 2 * n * h + 4 * (4 * n + c.experts + 1));
}

/// The shape of CrossCheckFiguresOfTheGuide, and two others.
std::vector<MoeConfig> formulaShapes() {
  return {{.name = "cross-check", .dModel = 1024, .dFf = 4096, .experts = 16, .topK = 4, .tokens = 65536},
          {.name = "fine", .dModel = 2048, .dFf = 768, .experts = 128, .topK = 8, .tokens = 4096},
          {.name = "uneven", .dModel = 640, .dFf = 1280, .experts = 6, .topK = 2, .tokens = 1001}};
}

TEST(Peers, SavedBytesOfUnmeasuredOnesFollowTheirCode) {
  for (const MoeConfig& c : formulaShapes()) {
    const int64_t n = c.rows(), d = c.dModel, h = c.dFf, l = c.tokens, e = c.experts;
    EXPECT_EQ(savedBytes(c, "sonicmoe"), 2 * l * d + 4 * n * h + 20 * n + 4 * l) << c.name;
    const int64_t megatron = 2 * l * d + 2 * n * (d + 3 * h) + 24 * n;
    EXPECT_EQ(savedBytes(c, "megatron"), megatron + 8 * e * l) << c.name;
    EXPECT_EQ(savedBytes(c, "megatron:permute=fused"), megatron + 4 * l * (2 * e + 1)) << c.name;
    EXPECT_EQ(savedBytes(c, "megatron-moe-act"), megatron + 8 * e * l - 2 * n * h) << c.name;
    EXPECT_EQ(savedBytes(c, "megatron-moe-act:permute=fused"), megatron + 4 * l * (2 * e + 1) - 2 * n * h) << c.name;
    int64_t p = 0;
    const Routing routing = Routing::balanced(c);
    for (int64_t tokens : routing.tokensPerExpert()) p += 128 * ((tokens + 127) / 128);
    EXPECT_EQ(savedBytes(c, "megablocks-sparse"), 2 * p * (2 * d + 4 * h) + 10 * n + 10 * (p / 128) * (h / 128))
        << c.name;
  }
}

TEST(Peers, CrossCheckFiguresOfTheGuide) {
  const MoeConfig c = formulaShapes()[0];
  const auto mib = [&](const char* system) { return static_cast<double>(savedBytes(c, system)) / 1048576.0; };
  EXPECT_NEAR(mib("megablocks-sparse"), 9219.1, 0.05);
  EXPECT_NEAR(mib("sonicmoe"), 4229.3, 0.06);
  EXPECT_NEAR(mib("megatron"), 6798.0, 0.05);
  EXPECT_NEAR(mib("megatron:permute=fused"), 6798.3, 0.06);
  EXPECT_NEAR(mib("megatron-moe-act"), 4750.0, 0.05);
}

TEST(Gshard, CapacityDecidesRowsDropsAndPadding) {
  MoeConfig c{.name = "cap", .dModel = 8, .dFf = 16, .experts = 4, .topK = 1, .tokens = 10};
  const Routing skewed = Routing::fromTable(c, {0, 0, 0, 0, 0, 0, 0, 1, 1, 2}, "skewed");
  const Plan plan = buildPlan(c, skewed, System::parse("gshard:capacity=1.5"));
  EXPECT_THAT(plan.rowsPerExpert, testing::Each(4)) << "⌈1.5·10/4⌉";
  EXPECT_EQ(wasteOf(plan).droppedSlots, 3);
  EXPECT_EQ(wasteOf(plan).paddedRows, 2 + 3 + 4);
  c.capacityFactor = 0.1;
  EXPECT_THAT(buildPlan(c, skewed, System::parse("gshard")).rowsPerExpert, testing::Each(1))
      << "the config's, at least 1";
  c.capacityFactor = 4;
  EXPECT_THAT(buildPlan(c, skewed, System::parse("gshard")).rowsPerExpert, testing::Each(10)) << "no more than tokens";
}

TEST(Custom, NamedSystemsArePointsOfIt) {
  const MoeConfig c = shapes()[3];
  const auto same = [&](const char* custom, const char* system) {
    const MemoryFigures a = memoryFigures(planOf(c, custom)), b = memoryFigures(planOf(c, system));
    EXPECT_EQ(a.saved, b.saved) << system;
    EXPECT_EQ(a.peak, b.peak) << system;
  };
  same("custom", "moeblaze");
  same("custom:save=paper", "moeblaze-paper");
  same("custom:save=input:chunk=7", "moeblaze-min:chunk=7");
  EXPECT_EQ(System::parse("custom:save=all").text(),
            "custom:dispatch=indexed:save=all:fused=auto:chunk=all:capacity=config");
}

TEST(Custom, EveryAxisChangesWhatItShould) {
  const MoeConfig c = shapes()[3];
  const int64_t r = c.rows(), d = c.dModel, h = c.dFf;
  const auto saved = [&](const std::string& how) { return savedBytes(c, "custom:" + how); };
  EXPECT_EQ(saved("dispatch=permuted") - saved("dispatch=indexed"), 2 * r * d - 2 * c.tokens * d)
      << "the copy instead of x";
  EXPECT_EQ(saved("save=paper") - saved("save=projections"), 2 * r * h);
  EXPECT_EQ(saved("save=all") - saved("save=paper"), 2 * r * h + 2 * r * d) << "act(A) and the experts' output";
  EXPECT_GT(saved("dispatch=blocked"), saved("dispatch=permuted") - 1);
  EXPECT_THROW(planOf(c, "custom:save=all:fused=1"), InputError);
  EXPECT_THROW(planOf(c, "custom:dispatch=indexed:capacity=2"), InputError);
  EXPECT_NO_THROW(planOf(c, "custom:dispatch=padded:capacity=2"));
}

TEST(Peers, ReluKeepsItsResultOnly) {
  MoeConfig c = shapes()[0];
  c.activation = Activation::gelu;
  const int64_t gelu = savedBytes(c, "torch");
  c.activation = Activation::relu;
  EXPECT_EQ(savedBytes(c, "torch"), gelu - 2 * c.rows() * c.dFf);
  EXPECT_EQ(savedBytes(c, "megablocks-memopt"), 2 * c.rows() * (2 * c.dModel + c.dFf) + 10 * c.rows() + 4 * c.experts);
}

TEST(Peers, WiderElementsScaleActivations) {
  MoeConfig c = shapes()[0];
  const int64_t narrow = savedBytes(c, "megablocks") - 8 * c.rows() - 4 * c.experts;
  c.dtype = DType::fp32;
  EXPECT_EQ(savedBytes(c, "megablocks") - 8 * c.rows() - 4 * c.experts, 2 * narrow);
}

// --- Names and parameters ---

TEST(System, AreListedByRank) {
  std::vector<std::string_view> names;
  for (const SystemInfo& info : systems()) names.push_back(info.name);
  EXPECT_THAT(names, testing::ElementsAre("moeblaze", "moeblaze-paper", "moeblaze-min", "megablocks",
                                          "megablocks-memopt", "megablocks-sparse", "scattermoe", "momoe", "sonicmoe",
                                          "megatron", "megatron-moe-act", "torch", "gshard", "custom"));
  EXPECT_EQ(std::ranges::adjacent_find(systems(), std::ranges::greater_equal{}, &SystemInfo::rank), systems().end())
      << "ranks are unique";
}

TEST(System, CanonicalTextNamesEveryParameter) {
  EXPECT_EQ(System::parse("momoe").text(), "momoe:save=0");
  EXPECT_EQ(System::parse("momoe:save=100").text(), "momoe:save=100");
  EXPECT_EQ(System::parse("moeblaze").text(), "moeblaze");
  EXPECT_EQ(System::parse("moeblaze-min:chunk=4").text(), "moeblaze-min:chunk=4");
  for (const std::string& system : allSystems()) {
    const std::string text = System::parse(system).text();
    EXPECT_EQ(System::parse(text).text(), text);
    EXPECT_EQ(planOf(shapes()[0], system).system, text);
  }
}

std::string errorOf(const std::string& system) {
  try {
    System::parse(system);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(System, ErrorsNameWhatIsAllowed) {
  EXPECT_THAT(errorOf("megablock"), testing::HasSubstr("did you mean 'megablocks'?"));
  EXPECT_THAT(errorOf(""), testing::HasSubstr("allowed: moeblaze"));
  EXPECT_THAT(errorOf("momoe:save=50"), testing::HasSubstr("save '50' is not allowed (allowed: 0, 100)"));
  EXPECT_THAT(errorOf("momoe:sav=0"), testing::HasSubstr("did you mean 'save'?"));
  EXPECT_THAT(errorOf("momoe:save=0:save=100"), testing::HasSubstr("given twice"));
  EXPECT_THAT(errorOf("momoe:save"), testing::HasSubstr("not allowed"));
  EXPECT_THAT(errorOf("momoe:"), testing::HasSubstr("unknown"));
  EXPECT_THAT(errorOf("torch:x=1"), testing::HasSubstr("has none"));
  for (const char* chunk : {"0", "-1", "1.5", "99999999999999999999", "04", "", "some"})
    EXPECT_THAT(errorOf(std::string("moeblaze-min:chunk=") + chunk), testing::HasSubstr("from 1")) << chunk;
  for (const char* capacity : {"0", "-1", "1e3", "x", "", "inf"})
    EXPECT_THAT(errorOf(std::string("gshard:capacity=") + capacity), testing::HasSubstr("above 0")) << capacity;
}

}  // namespace
}  // namespace moeblaze
