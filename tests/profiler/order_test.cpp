// The clock of a recording, and the dates of calls that take effect in the order of their stream.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/recording/recording_clock.h"
#include "profiler/recording/stream_order.h"

namespace moeblaze::profiler {
namespace {

using ::testing::IsEmpty;

TEST(RecordingClockTest, StepsOfTheWallClockAreEvenedOut) {
  RecordingClock clock(1'000'000'000, 50);
  EXPECT_EQ(clock.at(1'000'000'500), 500);
  clock.sample(2'000'000'000, 1'000'000'050 + 200);  // a drift of 200 ns is ignored
  EXPECT_EQ(clock.at(2'000'000'000), 1'000'000'000);
  clock.sample(9'000'000'000, 2'000'000'050);  // the wall clock was set forward by 6 s
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_EQ(clock.at(9'000'000'000), 2'000'000'000);
  EXPECT_EQ(clock.at(1'500'000'000), 500'000'000);
}

TEST(RecordingClockTest, AStepBackMakesTheRepeatedTimesTheNewOnes) {
  RecordingClock clock(10'000'000'000, 0);
  clock.sample(6'000'000'000, 1'000'000'000);  // the wall clock was set back by 5 s
  EXPECT_EQ(clock.steps(), 1);
  EXPECT_EQ(clock.at(6'500'000'000), 1'500'000'000);
  EXPECT_EQ(clock.at(10'500'000'000), 5'500'000'000);  // the wall clock shows this time twice; the second one is meant
}

TEST(StreamOrderTest, NumbersThatStartOverStayInOrder) {
  StreamOrder order;
  const StreamKey stream{1, 7};
  std::vector<int64_t> dated;
  order.addWork(stream, 0xfffffffe, 100);
  order.addCall(stream, 0xffffffff, 10, [&](int64_t ns) { dated.push_back(ns); });
  order.addWork(stream, 2, 400);  // 4 calls later
  order.addCall(stream, 3, 20, [&](int64_t ns) { dated.push_back(ns); });
  order.addWork(stream, 4, 500);
  order.settle(0, 0);
  EXPECT_THAT(dated, ::testing::ElementsAre(100, 400));
}

TEST(StreamOrderTest, ACallOfAnIdleStreamIsDatedInTheEnd) {
  StreamOrder order;
  const StreamKey stream{1, 7};
  std::vector<int64_t> dated;
  order.addCall(stream, 5, 10, [&](int64_t ns) { dated.push_back(ns); });
  order.settle(10, 100);
  EXPECT_THAT(dated, IsEmpty());
  order.settle(11, 100);
  EXPECT_THAT(dated, ::testing::ElementsAre(10));
  EXPECT_EQ(order.misdated(), 0);
  order.addWork(stream, 4, 900);  // this work delayed the call, so its date was wrong
  EXPECT_EQ(order.misdated(), 1);
}

}  // namespace
}  // namespace moeblaze::profiler
