// A Plan that is wrong by one buffer must be noticed: the executor fails, the results differ, or checkPlan reports it
// where it can know.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/systems/system.h"
#include "kernels/host/executor.h"

namespace moeblaze {
namespace {

using testing::IsEmpty;
using testing::Not;

class BrokenPlan : public testing::TestWithParam<std::string> {
 protected:
  BrokenPlan()
      : config{.name = "small",
               .dModel = 6,
               .dFf = 10,
               .experts = 4,
               .topK = 2,
               .tokens = 12,
               .dtype = DType::fp64,
               .gateDtype = DType::fp64},
        routing(Routing::balanced(config)),
        inputs(makeInputs(config, routing, 3)),
        plan(buildPlan(config, routing, System::parse(GetParam()))) {}

  /// True when running `broken` fails or gives other numbers than the sound Plan.
  bool isNoticed(const Plan& broken) const {
    try {
      return differs(executeOnHost(broken, inputs).results, executeOnHost(plan, inputs).results);
    } catch (const PlanFailure&) {
      return true;
    }
  }

  static bool differs(const LayerResults& a, const LayerResults& b) {
    const auto far = [](const std::vector<double>& x, const std::vector<double>& y) {
      return x.size() != y.size() || (!x.empty() && !(normRatio(x, y) < 1e-9));
    };
    return far(a.output, b.output) || far(a.x, b.x) || far(a.gates, b.gates) || far(a.w1, b.w1) || far(a.w2, b.w2) ||
           far(a.w3, b.w3);
  }

  MoeConfig config;
  Routing routing;
  LayerInputs inputs;
  Plan plan;
};

std::vector<std::string> systemNames() {
  std::vector<std::string> names;
  for (const SystemInfo& info : systems()) names.emplace_back(info.name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Systems, BrokenPlan, testing::ValuesIn(systemNames()), [](const auto& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST_P(BrokenPlan, SoundOneIsNotNoticed) {
  EXPECT_FALSE(isNoticed(plan));
  EXPECT_THAT(checkPlan(plan), IsEmpty());
}

TEST_P(BrokenPlan, AnyBufferFreedAStepTooEarly) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    const bool result = buffer.role == Role::output || buffer.role == Role::gradient;
    if (buffer.external || result || buffer.aliasOf != BufferId::none || buffer.lifetime.first == buffer.lifetime.last)
      continue;
    Plan broken = plan;
    --broken.buffers[i].lifetime.last;
    EXPECT_THROW(executeOnHost(broken, inputs), PlanFailure) << buffer.name;
    EXPECT_THAT(checkPlan(broken), Not(IsEmpty())) << buffer.name;
  }
}

TEST_P(BrokenPlan, AnyBufferAllocatedAStepTooLate) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    if (buffer.external || buffer.aliasOf != BufferId::none || buffer.lifetime.first == buffer.lifetime.last) continue;
    if (buffer.role == Role::input) continue;
    Plan broken = plan;
    ++broken.buffers[i].lifetime.first;
    EXPECT_THROW(executeOnHost(broken, inputs), PlanFailure) << buffer.name;
    EXPECT_THAT(checkPlan(broken), Not(IsEmpty())) << buffer.name;
  }
}

// checkPlan cannot know that two tensors must not share storage, but the results show it.
TEST_P(BrokenPlan, AnAliasTooMany) {
  int tried = 0;
  for (size_t later = 1; later < plan.buffers.size(); ++later)
    for (size_t earlier = 0; earlier < later; ++earlier) {
      const Buffer &base = plan.buffers[earlier], &other = plan.buffers[later];
      const auto eligible = [](const Buffer& b) {
        return !b.external && b.aliasOf == BufferId::none && (b.role == Role::saved || b.role == Role::transient);
      };
      // Both buffers hold hidden rows, and both are alive while the first is still to be read.
      if (!eligible(base) || !eligible(other) || base.bytes != other.bytes || !base.intermediate || !other.intermediate)
        continue;
      if (other.lifetime.first >= base.lifetime.last || other.lifetime.first <= base.lifetime.first) continue;
      Plan broken = plan;
      broken.buffers[later].aliasOf = static_cast<BufferId>(earlier);
      deriveLifetimes(broken);
      EXPECT_TRUE(isNoticed(broken)) << other.name << " over " << base.name;
      ++tried;
    }
  const bool keepsMuch = GetParam() == "megablocks" || GetParam() == "torch";
  EXPECT_GT(tried, keepsMuch ? 2 : -1) << "the search must find some";
}

TEST_P(BrokenPlan, AnyBufferMissing) {
  for (size_t i = 0; i < plan.operands.size(); ++i) {
    Plan broken = plan;
    broken.operands[i].id = BufferId::none;
    EXPECT_THROW(executeOnHost(broken, inputs), PlanFailure) << i;
    EXPECT_THAT(checkPlan(broken), Not(IsEmpty())) << i;
  }
}

// A saved buffer is checked when it is freed. A result is never freed, so it is checked after every Step.
TEST_P(BrokenPlan, ABufferTooSmallIsWrittenBehind) {
  int tried = 0;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer& buffer = plan.buffers[i];
    const bool saved = buffer.role == Role::saved && buffer.layout == Layout::rows;
    const bool result = buffer.role == Role::gradient && !buffer.external;
    if (buffer.aliasOf != BufferId::none || !(saved || result)) continue;
    Plan broken = plan;
    broken.buffers[i].bytes -= 8;
    EXPECT_THAT(checkPlan(broken), Not(IsEmpty())) << buffer.name;
    EXPECT_THROW(executeOnHost(broken, inputs), PlanFailure) << buffer.name;
    ++tried;
  }
  EXPECT_GE(tried, 4);
}

}  // namespace
}  // namespace moeblaze
