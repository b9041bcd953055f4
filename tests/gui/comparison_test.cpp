#include "gui/compare/comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QPainter>
#include <random>

#include "gui/compare/compare_view.h"
#include "gui/compare/difference_model.h"
#include "tests/gui/shell_traces.h"
#include "tests/gui/timeline_traces.h"

namespace moeblaze::gui {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

ComparedTrack side(Trace trace, std::string title = "t") {
  return {makeDocument(std::move(trace), std::move(title)), TrackId{0}};
}

/// A trace of Steps with these names and durations. Each Step makes an allocation of its name, of 100 bytes times its
/// number, and all are freed at the end.
Trace steps(const std::vector<std::pair<const char*, int64_t>>& list, int64_t startNs = 0) {
  Trace trace;
  trace.tracks = {{"memory", TrackKind::planned, 0}};
  int64_t now = startNs;
  for (size_t i = 0; i < list.size(); ++i) {
    const StringId name = trace.strings.add(list[i].first);
    trace.spans.push_back({TrackId{0}, name, now, list[i].second, static_cast<StepId>(i)});
    trace.allocations.push_back({.track = TrackId{0},
                                 .name = name,
                                 .role = Role::saved,
                                 .bytes = static_cast<int64_t>(100 * (i + 1)),
                                 .allocNs = now,
                                 .step = static_cast<StepId>(i)});
    now += list[i].second;
  }
  for (Allocation& allocation : trace.allocations) allocation.freeNs = now;
  return trace;
}

TEST(StepCurve, ColumnsAreThoseOfASlowScan) {
  std::mt19937 random(5);
  std::vector<int64_t> times, values;
  for (int64_t i = 0, now = 0; i < 5000; ++i, now += static_cast<int64_t>(random() % 3)) {
    times.push_back(now);
    values.push_back(static_cast<int64_t>(random() % 1000) - 500);
  }
  const StepCurve curve(times, values);
  for (const TimeWindow window : {TimeWindow{-100, 6000}, TimeWindow{1000, 1200}, TimeWindow{2000, 2040}}) {
    const TimeScale scale(window, 97);
    const auto columns = curve.columns(scale);
    for (int c = 0; c < scale.width(); ++c) {
      int64_t least = curve.at(scale.edge(c) - 1), greatest = least;
      for (int64_t ns = scale.edge(c); ns < scale.edge(c + 1); ++ns) {
        least = std::min(least, curve.at(ns));
        greatest = std::max(greatest, curve.at(ns));
      }
      EXPECT_EQ(columns[static_cast<size_t>(c)].least, least) << c;
      EXPECT_EQ(columns[static_cast<size_t>(c)].greatest, greatest) << c;
    }
  }
}

TEST(StepCurve, DifferenceHoldsAtEveryInstant) {
  const auto a = randomTrace(1, 400, 20, true), b = randomTrace(2, 300, 30, false);
  const MemoryCurve aCurve(*a, kTrack), bCurve(*b, kTrack);
  const auto curveOf = [](const MemoryCurve& curve) {
    std::vector<int64_t> times, values;
    for (const MemoryCurve::Point& point : curve.points()) times.push_back(point.timeNs), values.push_back(point.bytes);
    return StepCurve(times, values);
  };
  const StepCurve delta = difference(curveOf(aCurve), curveOf(bCurve));
  for (int64_t ns = -4000; ns < 12'000; ns += 7) ASSERT_EQ(delta.at(ns), bCurve.bytesAt(ns) - aCurve.bytesAt(ns)) << ns;
}

TEST(TimeMap, IsStraightBetweenAnchorsAndParallelOutside) {
  const TimeMap map({{100, 1000}, {200, 1400}});
  EXPECT_EQ(map(50), 950);
  EXPECT_EQ(map(100), 1000);
  EXPECT_EQ(map(150), 1200);
  EXPECT_EQ(map(300), 1500);
}

TEST(TimeMap, CommonStepsAreThoseInOrder) {
  const Trace a = steps({{"route", 10}, {"up", 20}, {"down", 30}, {"up", 5}});
  const Trace b = steps({{"up", 7}, {"extra", 1}, {"down", 3}, {"up", 9}, {"route", 1}});
  EXPECT_THAT(commonSteps(a, b), ElementsAre(Pair(10, 0), Pair(30, 8), Pair(60, 11)))
      << "route comes first in one and last in the other";
  EXPECT_TRUE(commonSteps(a, steps({{"other", 1}})).empty());
}

TEST(Comparison, ByTimeBothBeginTogether) {
  const Comparison c(side(steps({{"up", 10}, {"down", 10}})), side(steps({{"up", 10}, {"down", 10}}, 5000)),
                     Alignment::time);
  EXPECT_EQ(c.delta().greatest().bytes, 0);
  EXPECT_EQ(c.aPeak().timeNs, c.bPeak().timeNs);
}

TEST(Comparison, ByStepTheirStepsBeginTogether) {
  const ComparedTrack a = side(steps({{"up", 10}, {"down", 10}, {"end", 4}}));
  const ComparedTrack b = side(steps({{"up", 100}, {"down", 30}, {"end", 4}}, 7));
  const Comparison c(a, b, Alignment::step);
  EXPECT_EQ(c.alignment(), Alignment::step);
  EXPECT_EQ(c.steps(), 3u);
  for (int64_t ns = 0; ns < 24; ++ns) EXPECT_EQ(c.delta().at(ns), 0) << ns;
  EXPECT_GT(Comparison(a, b, Alignment::time).a().at(15), Comparison(a, b, Alignment::time).b().at(15));
}

TEST(Comparison, WithoutCommonStepsFallsBackToTime) {
  const Comparison c(side(steps({{"x", 10}})), side(steps({{"y", 10}})), Alignment::step);
  EXPECT_EQ(c.alignment(), Alignment::time);
  EXPECT_EQ(c.steps(), 0u);
}

TEST(Comparison, TableIsWorstFirstAndKnowsWhatIsInOneOnly) {
  Trace b = smallTrace();
  b.allocations[3].bytes += 5000;                      // allocation 3 is named d
  b.allocations[0].name = b.strings.add("only in b");  // allocation 0 was named a
  const Comparison c(side(smallTrace(), "A"), side(b, "B"), Alignment::time);
  const auto& byName = c.differences(Attribute::name);
  ASSERT_EQ(byName.size(), 5u);
  EXPECT_EQ(byName[0].what, "d");
  EXPECT_EQ(byName[0].peakDelta(), 5000);
  EXPECT_EQ(byName[0].a.count, 2);
  EXPECT_EQ(byName[0].b.bytes, 6200);
  EXPECT_EQ(byName[1].what, "a");
  EXPECT_EQ(byName[1].peakDelta(), -100);
  EXPECT_EQ(byName[2].what, "only in b");
  EXPECT_TRUE(byName[2].onlyInB());
  EXPECT_EQ(c.differences(Attribute::role)[0].what, "transient");
  int64_t sum = 0;
  for (const Difference& d : byName) sum += d.peakDelta();
  EXPECT_EQ(sum, c.bPeak().bytes - c.aPeak().bytes) << "the table explains the peaks' difference";
  EXPECT_THAT(c.csv(Attribute::name), StartsWith("name,a_peak_bytes,b_peak_bytes,delta_bytes,"));
  EXPECT_THAT(c.csv(Attribute::role), HasSubstr("\ntransient,"));
}

TEST(DifferenceModel, IsSoundAndSortsAnIndex) {
  const auto comparison =
      std::make_shared<const Comparison>(side(smallTrace()), side(steps({{"a", 10}, {"z", 5}})), Alignment::time);
  DifferenceModel model;
  const QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
  model.setComparison(comparison, Attribute::name);
  EXPECT_EQ(model.rowCount(), 5);
  EXPECT_EQ(model.index(0, DifferenceModel::kDelta).data().toString(), "-1.172 KiB");
  EXPECT_EQ(model.index(0, DifferenceModel::kBPeak).data().toString(), "—");
  model.sort(DifferenceModel::kWhat, Qt::DescendingOrder);
  EXPECT_EQ(model.index(0, 0).data().toString(), "z");
  model.sort(DifferenceModel::kBBytes, Qt::DescendingOrder);
  EXPECT_EQ(model.index(0, 0).data().toString(), "z");
  model.setComparison(comparison, Attribute::role);
  EXPECT_EQ(model.rowCount(), 2);
  model.setComparison(nullptr, Attribute::role);
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(CompareView, ZoomsPansAndTellsValues) {
  CompareView view;
  view.resize(900, 400);
  view.setComparison(
      std::make_shared<const Comparison>(side(smallTrace()), side(steps({{"a", 100}})), Alignment::time));
  view.show();
  ASSERT_TRUE(QTest::qWaitForWindowExposed(&view));
  const TimeWindow all = view.window();
  QTest::keyClick(&view, Qt::Key_W);
  EXPECT_LT(view.window().spanNs(), all.spanNs());
  const TimeWindow zoomed = view.window();
  QTest::keyClick(&view, Qt::Key_D);
  EXPECT_GT(view.window().startNs, zoomed.startNs);
  QTest::mousePress(&view, Qt::LeftButton, {}, {400, 100});
  QTest::mouseMove(&view, {500, 100});
  QTest::mouseRelease(&view, Qt::LeftButton, {}, {500, 100});
  QTest::keyClick(&view, Qt::Key_F);
  EXPECT_EQ(view.window(), all);
  const QImage plain = view.grab().toImage();
  QTest::mouseMove(&view, {450, 120});
  EXPECT_TRUE(waitFor([&] { return view.grab().toImage() != plain; })) << "values under the mouse";
}

}  // namespace
}  // namespace moeblaze::gui
