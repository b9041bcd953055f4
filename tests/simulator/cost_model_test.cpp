#include "simulator/cost/cost_model.h"

#include <gtest/gtest.h>

#include "core/systems/plan_builder.h"
#include "simulator/cost/simulation.h"

namespace moeblaze {
namespace {

/// A machine with 1 GB/s, 1 TFLOP/s and 100 ns for a launch, on which every product reaches half the peak.
Machine toyMachine() { return {"toy", 1000000, 1e9, {{DType::bf16, 1e12}}, 100, {{1, 0.5}, {2, 0.5}}}; }

/// A Plan of one Step for a layer whose tokens go to the given experts.
struct Toy {
  explicit Toy(std::vector<int32_t> experts)
      : config{.name = "toy", .dModel = 64, .dFf = 32, .experts = 4, .topK = 1, .tokens = std::ssize(experts)},
        builder(config, Routing::fromTable(config, std::move(experts), "table"), "toy", {}) {}
  int64_t time() {
    const Plan plan = builder.finish();
    return stepTime(plan, plan.steps.front(), toyMachine());
  }
  MoeConfig config;
  PlanBuilder builder;
};

TEST(CostModel, MemoryBoundStepsTakeTheirBytesAndLaunches) {
  Toy toy({0, 1, 2, 3});
  const BufferId a = toy.builder.external("a", Role::input, DType::uint8, Layout::flat, {700});
  const BufferId b = toy.builder.buffer("b", Role::output, DType::uint8, Layout::flat, {300});
  toy.builder.step("sum", Op::add).reads(a).writes(b).launches(3);
  EXPECT_EQ(toy.time(), 1000 + 3 * 100);
}

TEST(CostModel, AtomicAddsRunFarBelowACopy) {
  const auto time = [](Op op) {
    Toy toy({0, 1, 2, 3});
    const BufferId a = toy.builder.external("a", Role::input, DType::uint8, Layout::flat, {1 << 20});
    toy.builder.step("s", op).reads(a);
    return toy.time();
  };
  EXPECT_GT(time(Op::scatterAdd), 10 * time(Op::scatter));
  EXPECT_GT(time(Op::scaleRows), 2 * time(Op::multiply));
}

TEST(CostModel, HostStallsAreExposed) {
  Toy toy({0, 1, 2, 3});
  toy.builder.step("count", Op::sort).hostStalls(2).launches(0);
  EXPECT_EQ(toy.time(), 2 * 400'000);
}

TEST(CostModel, ProductsPayForWholeTilesOfEveryExpert) {
  Toy toy(std::vector<int32_t>(129, 2));  // one expert with two tiles of 128 rows
  toy.builder.step("gemm", Op::groupedGemm).grouped(32, 64);
  EXPECT_EQ(toy.time(), 100 + static_cast<int64_t>(2.0 * 256 * 32 * 64 / 0.5e12 * 1e9));
  Toy spread({0, 1, 2, 3});  // four experts of one token each take four tiles
  spread.builder.step("gemm", Op::groupedGemm).grouped(32, 64);
  EXPECT_EQ(spread.time(), 100 + static_cast<int64_t>(2.0 * 512 * 32 * 64 / 0.5e12 * 1e9));
}

TEST(CostModel, EmptyExpertsCostNothing) {
  Toy toy({2, 2});
  toy.builder.useExperts(0, 2);
  toy.builder.step("gemm", Op::groupedGemm).grouped(32, 64);
  EXPECT_EQ(toy.time(), 100);
}

TEST(CostModel, TheSlowerOfArithmeticAndTrafficDecides) {
  Toy toy({0, 1, 2, 3});
  const BufferId a = toy.builder.external("a", Role::input, DType::uint8, Layout::flat, {1 << 20});
  toy.builder.step("gemm", Op::denseGemm).reads(a).dense(8, 8, 8);
  EXPECT_EQ(toy.time(), (1 << 20) + 100);
}

TEST(CostModel, TritonIsSlowerThanALibrary) {
  const auto time = [](KernelFamily family) {
    Toy toy({0, 1, 2, 3});
    toy.builder.step("gemm", Op::denseGemm).dense(512, 512, 512).family(family);
    return toy.time();
  };
  EXPECT_GT(time(KernelFamily::triton), time(KernelFamily::library));
}

TEST(Simulation, SumsPhasesAndJudgesFit) {
  const MoeConfig config{.name = "t", .dModel = 64, .dFf = 96, .experts = 8, .topK = 2, .tokens = 128};
  Machine machine = toyMachine();
  const Simulation s = simulate(config, Routing::balanced(config), System::parse("megablocks"), machine);
  int64_t total = 0, traffic = 0;
  for (int64_t ns : s.stepNs) total += ns;
  for (const Step& step : s.plan.steps) traffic += step.bytesRead + step.bytesWritten;
  EXPECT_EQ(s.forwardNs + s.backwardNs, total);
  EXPECT_EQ(s.trafficBytes, traffic);
  EXPECT_EQ(s.weightBytes, 2 * 3 * 8 * 64 * 96);
  EXPECT_DOUBLE_EQ(s.forwardTflops(), s.forwardFlops / static_cast<double>(s.forwardNs) * 1e9 / 1e12);
  machine.memoryBytes = s.memory.peak + 2 * s.weightBytes;
  EXPECT_TRUE(simulate(config, Routing::balanced(config), System::parse("megablocks"), machine).fits());
  machine.memoryBytes -= 1;
  EXPECT_FALSE(simulate(config, Routing::balanced(config), System::parse("megablocks"), machine).fits());
}

TEST(Simulation, RouterIsReportedApart) {
  const MoeConfig config{.name = "t", .dModel = 64, .dFf = 96, .experts = 8, .topK = 2, .tokens = 128};
  const Routing routing = Routing::balanced(config);
  const Machine machine = toyMachine();
  const Simulation without = simulate(config, routing, System::parse("moeblaze"), machine);
  const Simulation with = simulate(config, routing, System::parse("moeblaze"), machine, {.withRouter = true});
  const int64_t own = 4 * 128 * 8 + 4 * 128 * 2;  // of scores and ids; x and gates are saved without the router too
  EXPECT_EQ(without.routerBytes, own);
  EXPECT_EQ(with.routerBytes, own);
  EXPECT_EQ(with.memory.saved, without.memory.saved + own);
  const Simulation copied = simulate(config, routing, System::parse("megablocks"), machine);
  EXPECT_EQ(copied.routerBytes, own + 2 * 128 * 64) << "MegaBlocks keeps no x of its own";
}

}  // namespace
}  // namespace moeblaze
