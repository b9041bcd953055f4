// Every system's Plan, run with its own buffers alone, against the definition of the layer.
#include <cctype>

#include "core/base/error.h"
#include "tests/support/layer_case.h"

namespace moeblaze {
namespace {

using Case = LayerCase;

double tolerance(DType dtype) {
  if (dtype == DType::fp64) return 1e-10;
  return dtype == DType::fp32 ? 1e-5 : 5e-3;
}

/// Plain torch rounds the gates' gradient to bf16 nine times, more often than any other system rounds anything.
double gateTolerance(const std::string& system, DType dtype) {
  return system == "torch" && dtype == DType::bf16 ? 6e-3 : tolerance(dtype);
}

void runCase(const Case& c, const std::string& system, bool withRouter = false) {
  const Routing routing = routingOf(c);
  LayerInputs inputs = makeInputs(c.config, routing, 7, withRouter);
  const Routing routed = Routing::fromTable(c.config, inputs.topkIds, "as routed");
  const Plan plan = buildPlan(c.config, routed, System::parse(system), {.withRouter = withRouter});
  const std::string what = system + " " + c.name + " " + std::string(name(c.config.activation)) + " " +
                           std::string(name(c.config.dtype)) + (withRouter ? " router" : "");
  ASSERT_THAT(checkPlan(plan), testing::IsEmpty()) << what;
  roundGates(plan, inputs);
  try {
    const Execution execution = executeOnHost(plan, inputs);
    EXPECT_EQ(execution.observedPerStep, bytesPerStep(plan)) << what;
    inputs.kept = execution.kept;
    EXPECT_EQ(std::ranges::count(execution.kept, 0), wasteOf(plan).droppedSlots) << what;
    expectSame(c.config, execution.results, referenceLayer(inputs),
               {.all = tolerance(c.config.dtype), .gates = gateTolerance(system, c.config.dtype)}, what);
  } catch (const PlanFailure& failure) {
    FAIL() << what << ": " << failure.what();
  }
}

MoeConfig shape(int64_t d, int64_t h, int64_t experts, int64_t topK, int64_t tokens) {
  return {.dModel = d,
          .dFf = h,
          .experts = experts,
          .topK = topK,
          .tokens = tokens,
          .dtype = DType::fp64,
          .gateDtype = DType::fp64};
}

std::vector<Case> cases() {
  return {{"odd", shape(13, 19, 5, 3, 37)},
          {"one expert", shape(8, 12, 1, 1, 9)},
          {"one choice", shape(10, 6, 7, 1, 50)},
          {"many choices", shape(9, 17, 64, 8, 40)},
          {"zipf", shape(12, 10, 16, 4, 60), "zipf:1.2"},
          {"all to one", shape(6, 8, 4, 1, 21), "", std::vector<int32_t>(21, 2)},
          {"empty first, middle and last", shape(6, 130, 6, 2, 3), "", {1, 2, 4, 1, 2, 4}},
          {"trained", shape(5, 7, 16, 2, 200), "shares:" MOEBLAZE_SAMPLES "/routing_mixtral_tiny_ids.npy:3"}};
}

std::vector<std::string> allSystems() {
  std::vector<std::string> names{
      "momoe:save=100",      "moeblaze-min:chunk=1", "moeblaze-min:chunk=3",          "megatron:permute=fused",
      "gshard:capacity=0.5", "gshard:capacity=4",    "megatron-moe-act:permute=fused"};
  for (const char* dispatch : {"indexed", "permuted", "blocked", "padded"})
    for (const char* how : {"save=all", "save=paper:fused=0", "save=paper:fused=1", "save=projections:fused=0",
                            "save=projections:fused=1:chunk=1", "save=input:fused=0:chunk=1", "save=input:fused=1"})
      names.push_back(std::string("custom:dispatch=") + dispatch + ":" + how);
  for (const SystemInfo& info : systems()) names.emplace_back(info.name);
  return names;
}

class EverySystem : public testing::TestWithParam<std::string> {
 protected:
  /// False for systems whose parameter asks for more experts than the case has.
  static bool fits(const Case& c) { return !(GetParam() == "moeblaze-min:chunk=3" && c.config.experts < 3); }
};
INSTANTIATE_TEST_SUITE_P(Systems, EverySystem, testing::ValuesIn(allSystems()), [](const auto& test) {
  std::string name = test.param;
  for (char& c : name)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  return name;
});

TEST_P(EverySystem, MatchesTheReferenceOnEveryRouting) {
  for (const Case& c : cases())
    if (fits(c)) runCase(c, GetParam());
}

TEST_P(EverySystem, MatchesForEveryActivation) {
  for (Activation activation : kActivations) {
    Case c = cases()[0];
    c.config.activation = activation;
    runCase(c, GetParam());
  }
}

TEST_P(EverySystem, MatchesWithSharedExperts) {
  for (Activation activation : {Activation::relu, Activation::geglu}) {
    Case c = cases()[0];
    c.config.activation = activation;
    c.config.sharedExperts = 2, c.config.sharedDFf = 11;
    runCase(c, GetParam());
  }
}

TEST_P(EverySystem, MatchesWithEveryRouter) {
  for (Router router : kRouters)
    for (bool renormalize : {false, true}) {
      Case c = cases()[0];
      c.config.router = router;
      c.config.renormalize = renormalize;
      runCase(c, GetParam(), true);
    }
}

TEST_P(EverySystem, TraceHoldsThePlannedAndTheObserved) {
  const Case c = cases()[0];
  const Routing routing = routingOf(c);
  const Plan plan = buildPlan(c.config, routing, System::parse(GetParam()));
  const Execution execution = executeOnHost(plan, makeInputs(c.config, routing, 7));
  ASSERT_EQ(execution.trace.tracks.size(), 2u);
  EXPECT_EQ(execution.trace.tracks[0].kind, TrackKind::planned);
  EXPECT_EQ(execution.trace.tracks[1].kind, TrackKind::observed);
  for (const TrackId track : {TrackId{0}, TrackId{1}})
    EXPECT_EQ(MemoryCurve(execution.trace, track).peak().bytes, memoryFigures(plan).peak);
  EXPECT_EQ(execution.trace.spans.size(), 2 * plan.steps.size());
}

TEST(Router, TiesGoToTheLowerId) {
  Case c = cases()[0];
  for (Router router : kRouters) {
    c.config.router = router;
    LayerInputs inputs = makeInputs(c.config, routingOf(c), 7, true);
    std::ranges::fill(inputs.x, 0.0);  // makes every logit the same
    std::ranges::fill(inputs.routerBias, 0.0);
    referenceRoute(c.config, inputs.x, inputs.routerWeight, inputs.routerBias, inputs.topkIds, inputs.gates);
    for (int64_t slot = 0; slot < c.config.rows(); ++slot) ASSERT_EQ(inputs.topkIds[slot], slot % c.config.topK);
    const Routing routed = Routing::fromTable(c.config, inputs.topkIds, "ties");
    const Plan plan = buildPlan(c.config, routed, System::parse("moeblaze"), {.withRouter = true});
    expectSame(c.config, executeOnHost(plan, inputs).results, referenceLayer(inputs), {.all = 1e-10, .gates = 1e-10},
               "ties");
  }
}

TEST(Execution, RefusesIdsThatDoNotFollowThePlansRouting) {
  Case c = cases()[0];
  const Plan plan = buildPlan(c.config, routingOf(c), System::parse("moeblaze"));
  LayerInputs inputs = makeInputs(c.config, routingOf(c), 7);
  EXPECT_NO_THROW(executeOnHost(plan, inputs));
  ASSERT_THAT(std::vector<int32_t>(inputs.topkIds.begin(), inputs.topkIds.begin() + 3), testing::ElementsAre(0, 1, 2));
  inputs.topkIds[0] = 3;  // the first token goes to expert 3 instead of expert 0
  const auto refusal = [&] {
    try {
      executeOnHost(plan, inputs);
      return std::string("not refused");
    } catch (const InputError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(refusal(), testing::AllOf(testing::HasSubstr("topk_ids"), testing::HasSubstr("expert 0"),
                                        testing::HasSubstr("22"), testing::HasSubstr("23")));
  inputs.topkIds[0] = 5;
  EXPECT_THAT(refusal(), testing::AllOf(testing::HasSubstr("topk_ids"), testing::HasSubstr("expert 5")));
}

TEST_P(EverySystem, MatchesInFp32) {
  for (Case c : cases()) {
    if (!fits(c)) continue;
    c.config.dtype = c.config.gateDtype = DType::fp32;
    runCase(c, GetParam());
  }
}

/// Cases wide enough that a norm averages over many roundings.
TEST_P(EverySystem, MatchesWithSixteenBitStorage) {
  for (DType dtype : {DType::bf16, DType::fp16})
    for (Case c : {Case{"wide", shape(72, 136, 6, 3, 90)}, Case{"wide zipf", shape(64, 100, 16, 2, 120), "zipf:1"},
                   Case{"wide, one choice", shape(96, 64, 4, 1, 70)}}) {
      c.config.dtype = dtype;
      c.config.gateDtype = DType::fp32;
      runCase(c, GetParam());
    }
}

}  // namespace
}  // namespace moeblaze
