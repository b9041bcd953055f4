#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "gui/timeline/index/span_lanes.h"
#include "tests/gui/timeline_traces.h"

namespace moeblaze::gui {
namespace {

std::shared_ptr<const Trace> randomSpans(uint32_t seed, size_t count, int64_t spreadNs) {
  std::mt19937 random(seed);
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"kernels", TrackKind::observed}, {"other", TrackKind::observed}};
  for (size_t i = 0; i < count; ++i) {
    const auto start = static_cast<int64_t>(random() % (count * static_cast<size_t>(spreadNs)));
    const int64_t length = random() % 50 == 0 ? 30 * spreadNs : static_cast<int64_t>(random() % (2 * spreadNs));
    trace->spans.push_back({static_cast<TrackId>(random() % 8 == 0), StringId::empty, start - 100, length});
  }
  return trace;
}

class Spans : public testing::TestWithParam<size_t> {};

/// Every span of the window is in exactly one box of a row. The box of a run names its longest span and is narrow.
TEST_P(Spans, BoxesHoldEverySpanOnce) {
  const auto trace = randomSpans(5, GetParam(), 20);
  const SpanLanes lanes(trace, kTrack);
  const int64_t end = static_cast<int64_t>(GetParam()) * 20;
  for (const TimeWindow& window : {TimeWindow{-200, end + 1000}, TimeWindow{end / 3, end / 2 + 7}, TimeWindow{0, 50}}) {
    const TimeScale scale(window, 500);
    size_t expected = 0, drawn = 0;
    for (const Span& span : trace->spans)
      expected += span.track == kTrack && span.startNs < window.endNs &&
                  span.startNs + std::max<int64_t>(1, span.durationNs) > window.startNs;
    std::map<int, float> ends;
    for (const SpanBox& box : lanes.boxes(scale)) {
      drawn += box.count;
      EXPECT_LT(box.row, lanes.rows());
      if (box.count > 1) {
        EXPECT_LE(box.right - box.left, 3);
      } else {
        EXPECT_NEAR(box.left, scale.xOf(trace->spans[box.span].startNs), 0.01);
      }
      if (ends.contains(box.row)) {
        EXPECT_GE(box.left, ends[box.row] - 1.01f);  // a run is drawn at least a pixel wide
      }
      ends[box.row] = box.right;
    }
    EXPECT_EQ(drawn + (window.startNs < 0 ? lanes.hidden() : 0), expected);
  }
}

TEST_P(Spans, RowsDoNotOverlapAndFindTheirSpans) {
  const auto trace = randomSpans(6, GetParam(), 20);
  const SpanLanes lanes(trace, kTrack);
  for (size_t i = 0; i < trace->spans.size(); ++i) {
    const Span& span = trace->spans[i];
    if (span.track != kTrack || span.durationNs == 0) continue;
    int found = 0;
    for (int row = 0; row < lanes.rows(); ++row) found += lanes.at(row, span.startNs) == static_cast<uint32_t>(i);
    EXPECT_EQ(found, 1) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Spans, testing::Values(1, 200, 5000));

TEST(SpanLanes, NestAndNameTheLongestOfARun) {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"steps", TrackKind::planned}};
  const auto add = [&](int64_t start, int64_t length) {
    trace->spans.push_back({kTrack, StringId::empty, start, length});
  };
  add(10, 5);
  add(0, 1000);
  add(15, 9);
  add(24, 2);
  add(900, 50);
  const SpanLanes lanes(trace, kTrack);
  EXPECT_EQ(lanes.rows(), 2);
  EXPECT_EQ(lanes.at(0, 12), 1u);
  EXPECT_EQ(lanes.at(1, 12), 0u);
  EXPECT_FALSE(lanes.at(1, 500));
  EXPECT_FALSE(lanes.at(2, 12));
  const std::vector<SpanBox> boxes = lanes.boxes(TimeScale({0, 1000}, 20));
  ASSERT_EQ(boxes.size(), 3u);
  EXPECT_EQ(boxes[1].count, 3u);
  EXPECT_EQ(boxes[1].span, 2u);
  EXPECT_EQ(boxes[2].span, 4u);
}

TEST(SpanLanes, FindTheLongestOfManyAndLeaveWideOnesAlone) {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"kernels", TrackKind::observed}};
  for (int64_t i = 0; i < 3000; ++i) trace->spans.push_back({kTrack, StringId::empty, 10 * i, i == 1700 ? 9 : 5});
  trace->spans.push_back({kTrack, StringId::empty, 30'000, 500'000});
  const SpanLanes lanes(trace, kTrack);
  const std::vector<SpanBox> boxes = lanes.boxes(TimeScale({0, 1'000'000}, 10));
  ASSERT_EQ(boxes.size(), 2u);
  EXPECT_EQ(boxes[0].count, 3000u);
  EXPECT_EQ(boxes[0].span, 1700u);
  EXPECT_EQ(boxes[1].count, 1u);
  EXPECT_EQ(boxes[1].span, 3000u);
}

}  // namespace
}  // namespace moeblaze::gui
