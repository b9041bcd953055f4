#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "gui/timeline/frame/stack_layout.h"
#include "gui/timeline/index/address_map.h"
#include "tests/gui/timeline_traces.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

bool isAlive(const Allocation& allocation, const TimeWindow& window) {
  return allocation.track == kTrack && allocation.allocNs < allocation.freeNs && allocation.allocNs < window.endNs &&
         allocation.freeNs > window.startNs;
}

double areaIn(const Allocation& allocation, const TimeWindow& window) {
  return static_cast<double>(allocation.bytes) *
         static_cast<double>(std::min(allocation.freeNs, window.endNs) - std::max(allocation.allocNs, window.startNs));
}

std::vector<TimeWindow> someWindows(const Trace& trace, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TimeWindow> windows{{-kNever / 4, kNever / 4}};
  for (int i = 0; i < 30; ++i) {
    const Allocation& allocation = trace.allocations[random() % trace.allocations.size()];
    windows.push_back({allocation.allocNs, allocation.allocNs + 1 + static_cast<int64_t>(random() % (1u << (i % 20)))});
  }
  return windows;
}

class Lifetimes : public testing::TestWithParam<size_t> {
 protected:
  std::shared_ptr<const Trace> trace_ = randomTrace(11, GetParam(), 40, GetParam() % 2 == 1);
  std::shared_ptr<const LifetimeIndex> index_ = std::make_shared<const LifetimeIndex>(trace_, kTrack);
};

TEST_P(Lifetimes, FindWhatLivesInAWindow) {
  for (const TimeWindow& window : someWindows(*trace_, 1)) {
    std::vector<uint32_t> expected, found;
    for (uint32_t i = 0; i < trace_->allocations.size(); ++i)
      if (isAlive(trace_->allocations[i], window)) expected.push_back(i);
    index_->visit(window, [&](uint32_t i) {
      if (!found.empty()) {
        EXPECT_LE(trace_->allocations[found.back()].allocNs, trace_->allocations[i].allocNs);
      }
      found.push_back(i);
    });
    EXPECT_EQ(index_->count(window), expected.size());
    std::ranges::sort(found);
    EXPECT_EQ(found, expected);
  }
}

TEST_P(Lifetimes, LargestAreThoseOfAFullSort) {
  for (const TimeWindow& window : someWindows(*trace_, 2)) {
    std::vector<double> areas;
    for (const Allocation& allocation : trace_->allocations)
      if (isAlive(allocation, window)) areas.push_back(areaIn(allocation, window));
    std::ranges::sort(areas, std::greater());
    for (size_t count : {size_t{0}, size_t{1}, size_t{50}, size_t{1000}}) {
      std::vector<double> found;
      for (uint32_t i : index_->largest(window, count)) found.push_back(areaIn(trace_->allocations[i], window));
      std::ranges::sort(found, std::greater());
      EXPECT_EQ(found,
                std::vector(areas.begin(), areas.begin() + static_cast<ptrdiff_t>(std::min(count, areas.size()))));
    }
  }
}

TEST_P(Lifetimes, StacksAreAsHighAsTheBandsAndWithoutHoles) {
  const auto events = std::make_shared<const MemoryEvents>(trace_, kTrack);
  const MemoryIndex memory(events, Categorizer("all"));
  for (const TimeWindow& window : someWindows(*trace_, 3)) {
    const TimeScale scale(window, 200);
    const std::vector<MemoryColumn> columns = memory.columns(scale);
    for (size_t most : {size_t{10}, StackLayout::kMaxShown}) {
      const StackLayout layout = layOutStack(*index_, scale, columns, 1, most);
      EXPECT_EQ(layout.alive, index_->count(window));
      EXPECT_LE(layout.shown, most);
      std::vector<int64_t> top(columns.size());
      for (const StackPolygon& polygon : layout.polygons) {
        ASSERT_FALSE(polygon.steps.empty());
        const Allocation& allocation = trace_->allocations[polygon.allocation];
        size_t step = 0;
        for (int c = polygon.steps[0].column; c < polygon.endColumn; ++c) {
          if (step + 1 < polygon.steps.size() && polygon.steps[step + 1].column <= c) ++step;
          ASSERT_EQ(polygon.steps[step].bottomBytes, top[static_cast<size_t>(c)]);
          top[static_cast<size_t>(c)] += allocation.bytes;
          ASSERT_TRUE(allocation.allocNs <= columns[static_cast<size_t>(c)].maxNs &&
                      columns[static_cast<size_t>(c)].maxNs < allocation.freeNs);
        }
      }
      for (size_t c = 0; c < columns.size(); ++c) {
        ASSERT_EQ(top[c] + layout.otherBytes[c], columns[c].maxBytes);
        ASSERT_GE(layout.otherBytes[c], 0);
        if (layout.shown == layout.alive) {
          ASSERT_EQ(layout.otherBytes[c], 0);
        }
      }
    }
  }
}

TEST_P(Lifetimes, FillIsTheMeanOfTheRow) {
  const MemoryEvents events(trace_, kTrack);
  const AddressMap map(index_, events, TrackId::none);
  ASSERT_FALSE(map.empty());
  const TimeScale bins(map.fillWindow(), static_cast<int>(map.bins()));
  const double rowBytes = static_cast<double>(map.space().size()) / AddressMap::kRows;
  for (size_t bin = 0; bin < map.bins(); bin += map.bins() / 8) {
    const TimeWindow window{bins.edge(static_cast<int>(bin)), bins.edge(static_cast<int>(bin) + 1)};
    if (window.spanNs() == 0) continue;
    std::vector<double> areas(AddressMap::kRows);
    index_->visit(window, [&](uint32_t i) {
      const Allocation& allocation = trace_->allocations[i];
      const double low = static_cast<double>(*map.space().offsetOf(allocation.address));
      for (size_t row = 0; row < areas.size(); ++row) {
        const double part =
            std::min(low + static_cast<double>(allocation.bytes), static_cast<double>(row + 1) * rowBytes) -
            std::max(low, static_cast<double>(row) * rowBytes);
        if (part > 0) areas[row] += areaIn(allocation, window) / static_cast<double>(allocation.bytes) * part;
      }
    });
    for (size_t row = 0; row < areas.size(); ++row) {
      const double full = rowBytes * static_cast<double>(window.spanNs());
      EXPECT_NEAR(map.fill(row)[bin], std::min(255., areas[row] / full * 255), 1.01) << row << " " << bin;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, Lifetimes, testing::Values(1, 63, 400, 20'001));

TEST(StackLayout, SinksWhenALowerOneIsFreed) {
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"one", TrackKind::observed}};
  trace->allocations = {{.track = kTrack, .bytes = 10, .allocNs = 0, .freeNs = 50},
                        {.track = kTrack, .bytes = 5, .allocNs = 20},
                        {.track = kTrack, .bytes = 3, .allocNs = 30, .freeNs = 80}};
  const LifetimeIndex lifetimes(trace, kTrack);
  const MemoryIndex memory(std::make_shared<const MemoryEvents>(trace, kTrack), Categorizer("all"));
  const TimeScale scale({0, 100}, 10);
  const StackLayout layout = layOutStack(lifetimes, scale, memory.columns(scale));
  ASSERT_EQ(layout.polygons.size(), 3u);
  const auto text = [&](size_t at) {
    std::string steps;
    for (const StackPolygon::Step& step : layout.polygons[at].steps)
      steps += std::to_string(step.column) + ":" + std::to_string(step.bottomBytes) + " ";
    return steps + "to " + std::to_string(layout.polygons[at].endColumn);
  };
  EXPECT_EQ(text(0), "0:0 to 5");
  EXPECT_EQ(text(1), "2:10 5:0 to 10");
  EXPECT_EQ(text(2), "3:15 5:5 to 8");
}

TEST(AddressSpace, CutsGapsOut) {
  constexpr uint64_t kMiB = 1 << 20;
  Trace trace;
  trace.tracks = {{"one", TrackKind::observed}, {"segments", TrackKind::segments}};
  const auto add = [&](int track, uint64_t address, int64_t bytes) {
    trace.allocations.push_back({.track = static_cast<TrackId>(track), .bytes = bytes, .address = address});
  };
  add(0, 100 * kMiB, 512);
  add(0, 101 * kMiB, 6 * kMiB);
  add(0, 1000'000 * kMiB, 512);
  add(0, 0, 512);  // address 0: not known
  add(1, 500 * kMiB, 20 * kMiB);
  const AddressSpace space(trace, kTrack, TrackId{1});
  ASSERT_EQ(space.runs().size(), 3u);
  EXPECT_EQ(space.size(), (8 + 20 + 2) * kMiB);
  EXPECT_EQ(space.offsetOf(100 * kMiB), 0);
  EXPECT_EQ(space.offsetOf(500 * kMiB + 3), 8 * kMiB + 3);
  EXPECT_EQ(space.offsetOf(1000'000 * kMiB), 28 * kMiB);
  EXPECT_FALSE(space.offsetOf(300 * kMiB));
  for (uint64_t offset : {uint64_t{0}, 7 * kMiB, 8 * kMiB, 29 * kMiB})
    EXPECT_EQ(space.offsetOf(space.addressAt(offset)), offset);
  EXPECT_EQ(AddressSpace(trace, kTrack, TrackId::none).size(), 10 * kMiB);
  EXPECT_EQ(AddressSpace(Trace{}, kTrack, TrackId::none).size(), 0u);
}

TEST(AddressSpace, AnyAddressFits) {
  Trace trace;
  trace.tracks = {{"one", TrackKind::observed}};
  trace.allocations = {{.track = kTrack, .bytes = kNever, .address = ~uint64_t{0} - 10},
                       {.track = kTrack, .bytes = 1, .address = 1}};
  const AddressSpace space(trace, kTrack, TrackId::none);
  EXPECT_GE(space.runs().size(), 1u);
  EXPECT_EQ(space.offsetOf(1), 1u);
}

}  // namespace
}  // namespace moeblaze::gui
