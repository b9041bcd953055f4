#include "simulator/commands/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/base/report.h"

namespace moeblaze {
namespace {

std::vector<std::string> draw(const Trace& trace, int64_t endNs, int64_t boundaryNs, ChartSize size) {
  std::istringstream chart(drawMemoryCurve(MemoryCurve(trace, TrackId{0}), endNs, boundaryNs, size));
  std::vector<std::string> lines;
  for (std::string line; std::getline(chart, line);) lines.push_back(line);
  return lines;
}

Allocation allocation(int64_t bytes, int64_t from, int64_t to) {
  return {.track = TrackId{0}, .bytes = bytes, .allocNs = from, .freeNs = to};
}

TEST(Chart, ColumnsShowTheirMaximum) {
  Trace trace;
  // Half of the peak is alive all the time, the other half for one of 1000 ns, which lies in the third of four columns.
  trace.allocations = {allocation(512, 0, 1000), allocation(512, 600, 601)};
  const auto lines = draw(trace, 1000, 500, {.columns = 4, .rows = 2});
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "1.0 KiB ┤  █");
  EXPECT_EQ(lines[1], "  512 B ┤████");
  EXPECT_EQ(lines[2], "        └──┴─");
}

TEST(Chart, EighthsOfACell) {
  Trace trace;
  trace.allocations = {allocation(800, 0, 50), allocation(300, 50, 100)};
  const auto lines = draw(trace, 100, 50, {.columns = 2, .rows = 1});
  EXPECT_EQ(lines[0], "800 B ┤█▃");
}

TEST(Chart, EmptyAndTinyTracesDraw) {
  EXPECT_EQ(draw({}, 0, 0, {.columns = 8, .rows = 3}).size(), 5u);
  Trace trace;
  trace.allocations = {allocation(1, 0, 1)};
  EXPECT_EQ(draw(trace, 1, 0, {.columns = 8, .rows = 3}).size(), 5u);
}

}  // namespace
}  // namespace moeblaze
