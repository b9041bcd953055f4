#include "core/trace/copy_track.h"

#include <gtest/gtest.h>

namespace moeblaze {
namespace {

constexpr TrackId kFirst{0}, kSecond{1};

/// A trace with a span and two allocations on its second track, and one of each on its first.
Trace twoTracks() {
  Trace trace;
  trace.tracks = {{"first", TrackKind::planned}, {"second", TrackKind::observed}};
  const StringId other = trace.strings.add("other"), name = trace.strings.add("name"), file = trace.strings.add("a.py");
  trace.spans = {{kFirst, other, 0, 1000, StepId{0}}, {kSecond, name, 5, 20, StepId{3}}};
  trace.allocations = {{.track = kFirst, .name = other, .bytes = 1},
                       {.track = kSecond,
                        .name = name,
                        .bytes = 10,
                        .allocNs = 5,
                        .freeNs = 25,
                        .stack = trace.stacks.add({{name, file, 7}}),
                        .freeRequestedNs = 24},
                       {.track = kSecond, .name = other, .bytes = 20, .allocNs = 6}};
  return trace;
}

TEST(CopyTrack, ShiftsTimesAndAddsTexts) {
  const Trace from = twoTracks();
  Trace to;
  to.tracks = {{"target", TrackKind::observed}};
  to.strings.add("so that ids differ");
  copyTrack(from, kSecond, to, kFirst, 100, 999);
  ASSERT_EQ(to.spans.size(), 1u);
  EXPECT_EQ(to.spans[0].track, kFirst);
  EXPECT_EQ(to.spans[0].startNs, 105);
  EXPECT_EQ(to.spans[0].durationNs, 20);
  EXPECT_EQ(to.spans[0].step, StepId{3});
  EXPECT_EQ(to.strings[to.spans[0].name], "name");
  ASSERT_EQ(to.allocations.size(), 2u);
  const Allocation &freed = to.allocations[0], &kept = to.allocations[1];
  EXPECT_EQ(freed.allocNs, 105);
  EXPECT_EQ(freed.freeNs, 125);
  EXPECT_EQ(freed.freeRequestedNs, 124);
  ASSERT_EQ(to.stacks[freed.stack].size(), 1u);
  EXPECT_EQ(to.strings[to.stacks[freed.stack][0].file], "a.py");
  EXPECT_EQ(kept.freeNs, 999) << "what is never freed ends there";
  EXPECT_EQ(kept.freeRequestedNs, kNever);
  EXPECT_EQ(to.strings[kept.name], "other");
}

TEST(CopyTrack, WithoutAnEndNothingIsFreed) {
  Trace to;
  to.tracks = {{"target", TrackKind::observed}};
  copyTrack(twoTracks(), kSecond, to, kFirst);
  EXPECT_EQ(to.allocations[0].freeNs, 25);
  EXPECT_EQ(to.allocations[1].freeNs, kNever);
}

TEST(CopyTrack, LastSpanEnd) {
  EXPECT_EQ(lastSpanEndNs(twoTracks(), kSecond), 25);
  EXPECT_EQ(lastSpanEndNs(Trace(), kFirst), 0);
}

}  // namespace
}  // namespace moeblaze
