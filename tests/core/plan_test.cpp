#include "core/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/systems/plan_builder.h"

namespace moeblaze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MoeConfig tinyConfig() { return {.name = "tiny", .dModel = 4, .dFf = 8, .experts = 2, .topK = 1, .tokens = 16}; }

/// A Plan of five Steps. Forward computes `keep` and `temp` from `x`, and `y` from `temp` with the help of `scratch`.
/// Backward overwrites `keep` through an alias and computes `dx` from that. In bytes keep has 64, temp 32, scratch 16,
/// y and dx 8.
struct TinyPlan {
  TinyPlan() : builder(config, Routing::balanced(config), "tiny", {}) {
    x = builder.external("x", Role::input, DType::uint8, Layout::flat, {100});
    w = builder.external("w", Role::weight, DType::uint8, Layout::flat, {50});
    keep = builder.hidden("keep", Layout::flat, {32});
    temp = builder.transient("temp", Layout::flat, {16});
    scratch = builder.buffer("scratch", Role::workspace, DType::uint8, Layout::flat, {16});
    y = builder.buffer("y", Role::output, DType::uint8, Layout::flat, {8});
    dx = builder.buffer("dx", Role::gradient, DType::uint8, Layout::flat, {8});
    inPlace = builder.alias("in_place", keep, {32});
    builder.step("a", Op::gather).reads(x).writes(keep, temp);
    builder.step("b", Op::groupedGemm).reads(temp, w).writes(scratch, y);
    builder.beginBackward();
    builder.step("c", Op::multiply).reads(keep).writes(inPlace);
    builder.step("d", Op::multiply).reads(inPlace).writes(dx);
    builder.release("return", inPlace);
  }
  Plan finish() { return builder.finish(); }

  MoeConfig config = tinyConfig();
  PlanBuilder builder;
  BufferId x, w, keep, temp, scratch, y, dx, inPlace;
};

TEST(Plan, LifetimesRunFromFirstWriteToLastRead) {
  TinyPlan tiny;
  const Plan plan = tiny.finish();
  const auto lifetime = [&](BufferId id) {
    return std::pair(plan.buffer(id).lifetime.first, plan.buffer(id).lifetime.last);
  };
  EXPECT_EQ(lifetime(tiny.keep), std::pair(0, 4)) << "an alias and a release extend it";
  EXPECT_EQ(lifetime(tiny.temp), std::pair(0, 1));
  EXPECT_EQ(lifetime(tiny.scratch), std::pair(1, 1));
  EXPECT_EQ(lifetime(tiny.y), std::pair(1, 4)) << "outputs are held to the end";
  EXPECT_EQ(lifetime(tiny.dx), std::pair(3, 4)) << "gradients exist from their first write";
  EXPECT_EQ(lifetime(tiny.inPlace), lifetime(tiny.keep));
}

TEST(Plan, FiguresMatchHandCount) {
  TinyPlan tiny;
  const Plan plan = tiny.finish();
  EXPECT_THAT(bytesPerStep(plan), ElementsAre(96, 120, 72, 80, 80));
  const MemoryFigures figures = memoryFigures(plan);
  EXPECT_EQ(figures.peak, 64 + 32 + 16 + 8);
  EXPECT_EQ(figures.peakStep, 1);
  EXPECT_EQ(figures.saved, 64) << "x is not read in backward";
  EXPECT_EQ(figures.intermediates, 64);
  EXPECT_EQ(figures.workspace, 16);
  EXPECT_EQ(figures.index, 0);
  EXPECT_EQ(plan.buffer(tiny.keep).role, Role::saved);
  EXPECT_EQ(plan.buffer(tiny.temp).role, Role::transient);
  EXPECT_EQ(weightBytes(plan), 50);
  EXPECT_THAT(liveAt(plan, 1), ElementsAre(tiny.keep, tiny.temp, tiny.scratch, tiny.y)) << "largest first";
  EXPECT_THAT(liveAt(plan, 4), ElementsAre(tiny.keep, tiny.y, tiny.dx));
}

TEST(Plan, InputsReadInBackwardAreSaved) {
  TinyPlan tiny;
  tiny.builder.release("late", tiny.x);
  EXPECT_EQ(memoryFigures(tiny.finish()).saved, 64 + 100);
}

TEST(Plan, ScratchAliveTogetherAddsUp) {
  TinyPlan tiny;
  const BufferId more = tiny.builder.buffer("more", Role::workspace, DType::uint8, Layout::flat, {5});
  const BufferId late = tiny.builder.buffer("late", Role::workspace, DType::uint8, Layout::flat, {7});
  tiny.builder.step("e", Op::sort).writes(more);
  tiny.builder.step("f", Op::sort).reads(more).writes(late);
  EXPECT_EQ(memoryFigures(tiny.finish()).workspace, 16);
}

TEST(Plan, TrafficCountsOperandsAndRows) {
  TinyPlan tiny;
  const Plan plan = tiny.finish();
  EXPECT_EQ(plan.steps[1].bytesRead, 32 + 50);
  EXPECT_EQ(plan.steps[1].bytesWritten, 16 + 8);
  EXPECT_EQ(plan.steps.back().bytesRead, 0) << "a release moves nothing";
}

TEST(CheckPlan, SoundPlanHasNoProblems) { EXPECT_THAT(checkPlan(TinyPlan().finish()), IsEmpty()); }

/// Expects checkPlan to name `problem` after `damage` is done to a sound Plan.
void expectProblem(const std::function<void(Plan&, TinyPlan&)>& damage, const std::string& problem) {
  TinyPlan tiny;
  Plan plan = tiny.finish();
  damage(plan, tiny);
  EXPECT_THAT(checkPlan(plan), testing::Contains(HasSubstr(problem)));
}

TEST(CheckPlan, FreedAStepTooEarly) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.buffers[index(t.temp)].lifetime.last = 0; },
                "temp lives from step 0 to 0");
}
TEST(CheckPlan, FreedAStepTooLate) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.buffers[index(t.temp)].lifetime.last = 2; }, "temp lives");
}
TEST(CheckPlan, ReadBeforeWrite) {
  expectProblem([](Plan& plan, TinyPlan&) { std::swap(plan.steps[0], plan.steps[1]); }, "step b reads temp before");
}
TEST(CheckPlan, BufferMissing) {
  expectProblem([](Plan& plan, TinyPlan&) { plan.operands[1].id = static_cast<BufferId>(99); }, "does not exist");
  expectProblem([](Plan& plan, TinyPlan&) { plan.operands[1].id = BufferId::none; }, "does not exist");
}
TEST(CheckPlan, WeightWritten) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.operands[plan.steps[1].writesBegin].id = t.w; }, "writes weight w");
}
TEST(CheckPlan, GradientNeverWritten) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.operands[plan.steps[3].writesBegin].id = t.temp; },
                "gradient dx is never");
}
TEST(CheckPlan, TwoBuffersOfOneName) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.buffers[index(t.scratch)].name = "temp"; },
                "buffer temp is not the only one of its name");
}
TEST(CheckPlan, AliasLargerThanItsBase) {
  expectProblem(
      [](Plan& plan, TinyPlan& t) {
        Buffer& alias = plan.buffers[index(t.inPlace)];
        alias.shape = {33};
        alias.bytes = 66;
      },
      "larger than keep");
}
TEST(CheckPlan, AliasOfALaterBuffer) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.buffers[index(t.keep)].aliasOf = t.inPlace; }, "declared after it");
}
TEST(CheckPlan, BytesDisagreeWithShape) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.buffers[index(t.temp)].bytes += 1; }, "temp has 33 bytes");
}
TEST(CheckPlan, WrongPhase) {
  expectProblem([](Plan& plan, TinyPlan&) { plan.forwardSteps = 1; }, "wrong side");
}
TEST(CheckPlan, UnusedBuffer) {
  TinyPlan tiny;
  tiny.builder.transient("idle", Layout::flat, {1});
  EXPECT_THAT(checkPlan(tiny.finish()), ElementsAre(HasSubstr("idle is never used")));
}
TEST(CheckPlan, SavedRoleMustBeHeld) {
  expectProblem([](Plan& plan, TinyPlan& t) { plan.buffers[index(t.temp)].role = Role::saved; },
                "temp is saved but not held");
}

}  // namespace
}  // namespace moeblaze
