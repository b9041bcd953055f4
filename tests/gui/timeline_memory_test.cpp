#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "gui/timeline/index/memory_index.h"
#include "tests/gui/timeline_traces.h"
#include "traces/figures/figures.h"
#include "traces/open.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::shared_ptr<const MemoryEvents> eventsOf(std::shared_ptr<const Trace> trace, TrackId track = kTrack) {
  return std::make_shared<const MemoryEvents>(std::move(trace), track);
}

MemoryIndex indexOf(const std::shared_ptr<const MemoryEvents>& events, Attribute attribute = Attribute::role) {
  return {events, Categorizer(events->trace(), events->track(), attribute)};
}

/// The bytes alive at an instant by category, computed directly from the trace.
CategoryBytes categoriesAt(const MemoryIndex& index, int64_t timeNs) {
  CategoryBytes bytes{};
  for (const Allocation& allocation : index.events().trace().allocations)
    if (allocation.track == index.events().track() && allocation.allocNs <= timeNs && timeNs < allocation.freeNs)
      bytes[index.categoryOf(allocation)] += allocation.bytes;
  return bytes;
}

/// Compares every column with the points of the curve within it. The bands are compared in every `checkedCategories`th
/// column.
void expectColumns(const MemoryIndex& index, const MemoryCurve& curve, const TimeScale& scale, int checkedCategories) {
  const std::vector<MemoryColumn> columns = index.columns(scale);
  ASSERT_EQ(columns.size(), static_cast<size_t>(scale.width()));
  const std::span<const MemoryCurve::Point> points = curve.points();
  auto next = std::ranges::lower_bound(points, scale.edge(0), {}, &MemoryCurve::Point::timeNs);
  for (int c = 0; c < scale.width(); ++c) {
    const MemoryColumn& column = columns[static_cast<size_t>(c)];
    const int64_t startNs = scale.edge(c), endNs = scale.edge(c + 1);
    const int64_t entering = next == points.begin() ? 0 : (next - 1)->bytes;
    ASSERT_EQ(column.enteringBytes, entering) << c;
    int64_t least = entering, most = entering;
    if (next != points.end() && next->timeNs == startNs && startNs < endNs) least = most = next->bytes;
    for (; next != points.end() && next->timeNs < endNs; ++next) {
      least = std::min(least, next->bytes);
      most = std::max(most, next->bytes);
    }
    ASSERT_EQ(column.minBytes, least) << c;
    ASSERT_EQ(column.maxBytes, most) << c;
    ASSERT_EQ(curve.bytesAt(column.maxNs), most) << c;
    ASSERT_EQ(std::accumulate(column.atMax.begin(), column.atMax.end(), int64_t{0}), most) << c;
    if (c % checkedCategories == 0) {
      ASSERT_EQ(column.atMax, categoriesAt(index, column.maxNs)) << c;
    }
  }
}

struct Case {
  uint32_t seed = 0;
  size_t count = 0;
  int64_t spreadNs = 1;
  bool bursty = false;
};

class MemoryIndexProperties : public testing::TestWithParam<Case> {};

TEST_P(MemoryIndexProperties, AgreeWithTheCurveAtEveryZoom) {
  const Case& c = GetParam();
  const auto trace = randomTrace(c.seed, c.count, c.spreadNs, c.bursty);
  const auto events = eventsOf(trace);
  const MemoryCurve curve(*trace, kTrack);
  ASSERT_EQ(events->pointCount(), curve.points().size());
  for (size_t i = 0; i < events->pointCount(); ++i) {
    ASSERT_EQ(events->times()[i], curve.points()[i].timeNs);
    ASSERT_EQ(events->bytes()[i], curve.points()[i].bytes);
  }
  EXPECT_EQ(events->peak().bytes, curve.peak().bytes);
  EXPECT_EQ(events->peak().timeNs, curve.peak().timeNs);

  const TimeWindow all{events->times().front() - 10, events->times().back() + 10};
  std::mt19937 random(c.seed);
  for (const Attribute attribute : {Attribute::role, Attribute::name}) {
    const MemoryIndex index = indexOf(events, attribute);
    ASSERT_LE(index.categories().size(), kMaxCategories);
    for (int width : {1, 7, 640, 1920}) expectColumns(index, curve, TimeScale(all, width), 64);
    for (int64_t span = all.spanNs(); span > 1; span = span * 2 / 5) {
      const int64_t startNs = all.startNs + static_cast<int64_t>(random() % static_cast<uint64_t>(all.spanNs()));
      expectColumns(index, curve, TimeScale({startNs, startNs + span}, 300), 50);
    }
  }
}

TEST_P(MemoryIndexProperties, TheHighestColumnIsThePeak) {
  const auto trace = randomTrace(GetParam().seed, GetParam().count, GetParam().spreadNs, GetParam().bursty);
  const MemoryIndex index = indexOf(eventsOf(trace));
  const MemoryCurve::Point peak = index.peak();
  for (int64_t span = 40; span < int64_t{1} << 40; span *= 3) {
    const std::vector<MemoryColumn> columns =
        index.columns(TimeScale({peak.timeNs - span / 3, peak.timeNs + span}, 97));
    const auto highest = std::ranges::max_element(columns, {}, &MemoryColumn::maxBytes);
    EXPECT_EQ(highest->maxBytes, peak.bytes);
    EXPECT_EQ(highest->maxNs, peak.timeNs);
  }
}

TEST_P(MemoryIndexProperties, LiveSetsAndNeighboursAgreeWithTheCurve) {
  const auto trace = randomTrace(GetParam().seed, GetParam().count, GetParam().spreadNs, GetParam().bursty);
  const auto events = eventsOf(trace);
  const MemoryCurve curve(*trace, kTrack);
  const MemoryIndex index = indexOf(events);
  const size_t apart = std::max<size_t>(1, events->pointCount() / 40);
  for (size_t i = 0; i < events->pointCount(); i += apart) {
    for (int64_t timeNs : {events->times()[i] - 1, events->times()[i], events->times()[i] + 1}) {
      ASSERT_EQ(events->liveAt(timeNs), curve.liveAt(timeNs)) << timeNs;
      ASSERT_EQ(events->bytesAt(timeNs), curve.bytesAt(timeNs)) << timeNs;
      ASSERT_EQ(index.categoriesAt(timeNs), categoriesAt(index, timeNs)) << timeNs;
    }
    const bool isFirst = i == 0, isLast = i + 1 == events->pointCount();
    EXPECT_EQ(events->previousEvent(events->times()[i]),
              isFirst ? std::nullopt : std::optional(events->times()[i - 1]));
    EXPECT_EQ(events->nextEvent(events->times()[i]), isLast ? std::nullopt : std::optional(events->times()[i + 1]));
  }
}

INSTANTIATE_TEST_SUITE_P(Random, MemoryIndexProperties,
                         testing::Values(Case{1, 50, 3}, Case{2, 3000, 1}, Case{3, 30'000, 700},
                                         Case{4, 20'000, 9, true}, Case{5, 100'000, 1'000'000},
                                         Case{6, 150'000, 400, true}));

TEST(MemoryEvents, EmptyTrack) {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"none", TrackKind::observed}};
  const auto events = eventsOf(trace);
  EXPECT_EQ(events->pointCount(), 0u);
  EXPECT_EQ(events->peak().bytes, 0);
  EXPECT_EQ(events->bytesAt(5), 0);
  EXPECT_THAT(events->liveAt(5), IsEmpty());
  EXPECT_FALSE(events->nextEvent(5));
  EXPECT_FALSE(events->previousEvent(5));
  for (const MemoryColumn& column : indexOf(events).columns(TimeScale({0, 100}, 10))) EXPECT_EQ(column.maxBytes, 0);
}

TEST(MemoryEvents, FreesComeBeforeAllocationsOfTheSameInstant) {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"one", TrackKind::observed}};
  trace->allocations = {{.track = kTrack, .bytes = 10, .allocNs = 0, .freeNs = 5},
                        {.track = kTrack, .bytes = 10, .allocNs = 5, .freeNs = 5},
                        {.track = kTrack, .bytes = 7, .allocNs = 5}};
  const auto events = eventsOf(trace);
  EXPECT_EQ(events->peak().bytes, 10);
  EXPECT_EQ(events->peak().timeNs, 0);
  EXPECT_THAT(events->liveAt(5), ElementsAre(2));
  const std::vector<MemoryColumn> columns = indexOf(events).columns(TimeScale({0, 10}, 2));
  EXPECT_EQ(columns[1].minBytes, 7);
  EXPECT_EQ(columns[1].maxBytes, 7);
}

TEST(MemoryIndex, OfEqualMaximaTheFirst) {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"one", TrackKind::observed}};
  for (int64_t i = 0; i < 5000; ++i)
    trace->allocations.push_back({.track = kTrack, .bytes = 10, .allocNs = 20 * i, .freeNs = 20 * i + 10});
  const MemoryIndex index = indexOf(eventsOf(trace));
  EXPECT_EQ(index.peak().timeNs, 0);
  for (int64_t startNs : {-5, 1010, 40'015}) {
    const int64_t firstNs = (startNs + 19) / 20 * 20;
    EXPECT_EQ(index.columns(TimeScale({startNs, 100'000}, 1))[0].maxNs, firstNs) << startNs;
  }
}

/// A million events at one instant form one point. Drawing it must not replay them for every column.
TEST(MemoryIndex, ManyEventsAtOneInstant) {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"one", TrackKind::observed}};
  for (int64_t i = 0; i < 500'000; ++i)
    trace->allocations.push_back(
        {.track = kTrack, .role = static_cast<Role>(i % 3), .bytes = 1, .allocNs = i < 20 ? i : 1000});
  const MemoryIndex index = indexOf(eventsOf(trace));
  expectColumns(index, MemoryCurve(*trace, kTrack), TimeScale({0, 3000}, 1920), 200);
}

TEST(MemoryIndex, SnapshotOfATrainedModelReplaysEventByEvent) {
  const auto trace =
      std::make_shared<const Trace>(openTrace(MOEBLAZE_SAMPLES "/torch_snapshot_qwen3moe_2layer.pickle"));
  const std::optional<TrackId> track = mainTrack(*trace);
  ASSERT_TRUE(track);
  const auto events = eventsOf(trace, *track);
  ASSERT_GT(events->size(), 1000u);
  int64_t bytes = 0, most = 0;
  for (size_t point = 0; point < events->pointCount(); ++point) {
    for (size_t at = events->firstEvent(point); at < events->firstEvent(point + 1); ++at) {
      const MemoryEvents::Event event = events->event(at);
      bytes += (event.isFree ? -1 : 1) * trace->allocations[event.allocation].bytes;
    }
    ASSERT_EQ(events->bytes()[point], bytes);
    most = std::max(most, bytes);
  }
  EXPECT_EQ(events->peak().bytes, most);
  const MemoryCurve curve(*trace, *track);
  EXPECT_EQ(events->liveAt(events->peak().timeNs), curve.liveAt(curve.peak().timeNs));
  for (Attribute attribute : kAttributes)
    expectColumns(indexOf(events, attribute), curve,
                  TimeScale({events->times().front(), events->times().back() + 1}, 1920), 20);
}

}  // namespace
}  // namespace moeblaze::gui
