#include "core/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/systems/system.h"

namespace moeblaze {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::pair<int64_t, int64_t>> pairs(const MemoryCurve& curve) {
  std::vector<std::pair<int64_t, int64_t>> result;
  for (const auto& point : curve.points()) result.emplace_back(point.timeNs, point.bytes);
  return result;
}

Trace handMade() {
  constexpr TrackId kFirst{0}, kSecond{1};
  Trace trace;
  trace.tracks = {{"first", TrackKind::planned}, {"second", TrackKind::observed}};
  const auto add = [&](TrackId track, const char* name, int64_t bytes, int64_t from, int64_t to) {
    trace.allocations.push_back(
        {.track = track, .name = trace.strings.add(name), .bytes = bytes, .allocNs = from, .freeNs = to});
  };
  add(kFirst, "a", 10, 0, 30);
  add(kFirst, "b", 5, 10, 20);
  add(kFirst, "c", 7, 20, 30);
  add(kFirst, "kept", 1, 25, kNever);
  add(kSecond, "other", 99, 5, 6);
  return trace;
}

TEST(MemoryCurve, HandMadeTrace) {
  const Trace trace = handMade();
  const MemoryCurve curve(trace, TrackId{0});
  EXPECT_THAT(pairs(curve),
              ElementsAre(std::pair(0, 10), std::pair(10, 15), std::pair(20, 17), std::pair(25, 18), std::pair(30, 1)));
  EXPECT_EQ(curve.peak().timeNs, 25);
  EXPECT_EQ(curve.peak().bytes, 18);
  EXPECT_EQ(curve.bytesAt(-1), 0);
  EXPECT_EQ(curve.bytesAt(19), 15);
  EXPECT_EQ(curve.bytesAt(20), 17) << "what is freed at an instant is gone";
  EXPECT_EQ(curve.bytesAt(1000), 1);
  EXPECT_THAT(curve.liveAt(25), ElementsAre(0, 2, 3)) << "largest first";
  EXPECT_THAT(curve.liveAt(31), ElementsAre(3));
  EXPECT_EQ(MemoryCurve(trace, TrackId{1}).peak().bytes, 99) << "tracks do not mix";
}

TEST(Trace, TextsAndStacksAreKeptOnce) {
  Trace trace;
  const StringId a = trace.strings.add("a");
  EXPECT_EQ(trace.strings.add("a"), a);
  EXPECT_EQ(trace.strings.add(""), StringId::empty);
  EXPECT_EQ(trace.strings.size(), 2u);
  const StackId one = trace.stacks.add({{a, a, 1}, {a, a, 2}});
  EXPECT_EQ(trace.stacks.add({{a, a, 1}, {a, a, 2}}), one);
  EXPECT_NE(trace.stacks.add({{a, a, 2}, {a, a, 1}}), one) << "order tells";
  EXPECT_EQ(trace.stacks.add({}), StackId::none);
  EXPECT_EQ(trace.stacks[one].size(), 2u);
  const Trace copy = trace;  // ids stay valid
  EXPECT_EQ(copy.strings[a], "a");
}

TEST(MemoryCurve, EmptyTrack) {
  const Trace trace;
  const MemoryCurve curve(trace, TrackId{0});
  EXPECT_EQ(curve.peak().bytes, 0);
  EXPECT_EQ(curve.bytesAt(0), 0);
  EXPECT_THAT(curve.liveAt(0), IsEmpty());
}

TEST(MakeTrace, AgreesWithThePlanAtEveryStep) {
  const MoeConfig config{.name = "t", .dModel = 64, .dFf = 96, .experts = 8, .topK = 2, .tokens = 128};
  for (const SystemInfo& info : systems()) {
    const Plan plan = buildPlan(config, Routing::balanced(config), System::parse(info.name));
    std::vector<int64_t> times;
    for (const Step& step : plan.steps) times.push_back(step.op == Op::release ? 0 : 10 + std::ssize(times));
    const Trace trace = makeTrace(plan, times);
    const MemoryCurve curve(trace, TrackId{0});
    EXPECT_EQ(curve.peak().bytes, memoryFigures(plan).peak) << info.name;
    const std::vector<int64_t> alive = bytesPerStep(plan);
    int64_t end = 0;
    for (size_t i = 0; i < plan.steps.size(); ++i) {
      const Span& span = trace.spans[i];
      EXPECT_EQ(span.startNs, end);
      EXPECT_EQ(trace.strings[span.name], plan.steps[i].name);
      end += times[i];
      if (times[i] == 0) continue;
      EXPECT_EQ(curve.bytesAt(span.startNs), alive[i]) << info.name << " " << plan.steps[i].name;
      int64_t live = 0;
      for (size_t id : curve.liveAt(span.startNs)) live += trace.allocations[id].bytes;
      EXPECT_EQ(live, alive[i]);
    }
    EXPECT_GT(curve.bytesAt(end), 0) << "outputs and gradients stay";
  }
}

}  // namespace
}  // namespace moeblaze
