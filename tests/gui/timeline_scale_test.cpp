#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "gui/timeline/frame/byte_scale.h"
#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;

std::vector<std::string> labels(const std::vector<Tick>& ticks) {
  std::vector<std::string> result;
  for (const Tick& tick : ticks) result.push_back(tick.label);
  return result;
}

constexpr TimeWindow kDecades{-(int64_t{1} << 61), int64_t{1} << 61};

TEST(TimeScale, ColumnsPartTheWindow) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; ++i) {
    const int64_t start = static_cast<int64_t>(random()) >> (2 + random() % 50);
    const int64_t span = 1 + static_cast<int64_t>((random() >> 3) >> (random() % 60));
    const TimeScale scale({start, start + span}, 1 + static_cast<int>(random() % 3000));
    EXPECT_EQ(scale.edge(0), start);
    EXPECT_EQ(scale.edge(scale.width()), start + span);
    const int64_t timeNs = start + static_cast<int64_t>(random() % static_cast<uint64_t>(span));
    const int column = static_cast<int>(static_cast<long double>(timeNs - start) * scale.width() / span);
    EXPECT_TRUE(scale.edge(column) <= timeNs && timeNs < scale.edge(column + 1))
        << start << " " << span << " " << column;
  }
}

TEST(TimeScale, PlacesAndTimesAreInverse) {
  const TimeScale scale({1'000'000, 3'000'000}, 1000);
  EXPECT_DOUBLE_EQ(scale.xOf(2'000'000), 500);
  EXPECT_DOUBLE_EQ(scale.xOf(0), -500);
  EXPECT_EQ(scale.timeAt(500), 2'000'000);
  EXPECT_EQ(scale.timeAt(-0.5), 999'000);
  const int64_t late = int64_t{1} << 60;  // a double would be 128 ns off
  EXPECT_EQ(TimeScale({late, late + 1000}, 1000).timeAt(37), late + 37);
  EXPECT_DOUBLE_EQ(TimeScale({late, late + 1000}, 1000).xOf(late + 37), 37);
}

TEST(TimeScale, ZoomKeepsTheTimeUnderTheCursor) {
  const TimeScale scale({0, 1'000'000}, 1000);
  const TimeWindow in = scale.zoomed(300, 0.5, kDecades);
  EXPECT_EQ(in, (TimeWindow{150'000, 650'000}));
  EXPECT_EQ(TimeScale(in, 1000).timeAt(300), scale.timeAt(300));
  EXPECT_EQ(scale.zoomed(300, 2, kDecades), (TimeWindow{-300'000, 1'700'000}));
  EXPECT_EQ(scale.zoomed(300, 1e-9, kDecades).spanNs(), kMinSpanNs);
  EXPECT_EQ(scale.zoomed(300, 1e9, {-10, 2'000'000}), (TimeWindow{-10, 2'000'000}));
  EXPECT_EQ(scale.zoomed(1000, 2, {0, 1'500'000}), (TimeWindow{0, 1'500'000}));
}

TEST(TimeScale, PanStaysWithinBounds) {
  const TimeScale scale({100, 200}, 50);
  EXPECT_EQ(scale.panned(10, {0, 1000}), (TimeWindow{120, 220}));
  EXPECT_EQ(scale.panned(-500, {0, 1000}), (TimeWindow{0, 100}));
  EXPECT_EQ(scale.panned(5000, {0, 1000}), (TimeWindow{900, 1000}));
  EXPECT_EQ(clamped({-5, 5000}, {0, 1000}), (TimeWindow{0, 1000}));
  EXPECT_EQ(clamped({3, 3}, {0, 1000}), (TimeWindow{3, 3 + kMinSpanNs}));
  EXPECT_EQ(clamped({3, 4}, {0, 5}), (TimeWindow{0, 5}));
}

TEST(TimeScale, TicksAreRoundAndSayTheirUnit) {
  EXPECT_THAT(labels(TimeScale({0, 1000}, 400).ticks(100)), ElementsAre("0.0 µs", "0.5 µs"));
  EXPECT_THAT(labels(TimeScale({-30, 70}, 500).ticks(100)), ElementsAre("-20 ns", "0 ns", "20 ns", "40 ns", "60 ns"));
  EXPECT_THAT(labels(TimeScale({1'200'000, 3'300'000}, 500).ticks(100)),
              ElementsAre("1.5 ms", "2.0 ms", "2.5 ms", "3.0 ms"));
  EXPECT_THAT(labels(TimeScale({5'000'000'000, 15'000'000'001}, 200).ticks(90)), ElementsAre("5 s", "10 s", "15 s"));
  EXPECT_THAT(labels(TimeScale({2'000'000'100, 2'000'000'120}, 200).ticks(90)),
              ElementsAre("2.00000010 s", "2.00000011 s"));
  EXPECT_LE(TimeScale(kDecades, 1920).ticks(100).size(), 20u);
}

TEST(TimeScale, Texts) {
  EXPECT_EQ(durationText(999), "999 ns");
  EXPECT_EQ(durationText(1'234'567), "1.235 ms");
  EXPECT_EQ(durationText(123'456'789), "123.5 ms");
  EXPECT_EQ(timeText(1'234'567, 1000), "1.235 ms");
  EXPECT_EQ(timeText(1'234'567, 1), "1.234567 ms");
  EXPECT_EQ(timeText(-1500, 100), "-1.5 µs");
}

TEST(ByteScale, TicksAreBinary) {
  constexpr double kMiB = 1 << 20;
  EXPECT_THAT(labels(ByteScale(5 * kMiB, 250).ticks(50)),
              ElementsAre("0 MiB", "1 MiB", "2 MiB", "3 MiB", "4 MiB", "5 MiB"));
  EXPECT_THAT(labels(ByteScale(1.3 * kMiB, 130).ticks(49)), ElementsAre("0 MiB", "0.5 MiB", "1.0 MiB"));
  EXPECT_THAT(labels(ByteScale(40 * 1024 * kMiB, 100).ticks(40)), ElementsAre("0 GiB", "16 GiB", "32 GiB"));
  EXPECT_THAT(labels(ByteScale(3, 90).ticks(30)), ElementsAre("0 B", "1 B", "2 B", "3 B"));
}

TEST(ByteScale, HeightsAndBytesAreInverse) {
  const ByteScale scale(1000, 200);
  EXPECT_DOUBLE_EQ(scale.yOf(0), 200);
  EXPECT_DOUBLE_EQ(scale.yOf(1000), 0);
  EXPECT_DOUBLE_EQ(scale.bytesAt(scale.yOf(123)), 123);
}

TEST(ByteScale, Texts) {
  EXPECT_EQ(bytesText(0), "0 B");
  EXPECT_EQ(bytesText(1023), "1023 B");
  EXPECT_EQ(bytesText(1 << 20), "1.000 MiB");
  EXPECT_EQ(bytesText(-(int64_t{150} << 30)), "-150.0 GiB");
}

}  // namespace
}  // namespace moeblaze::gui
