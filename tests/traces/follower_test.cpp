#include "traces/store/follower.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "tests/support/input_error.h"
#include "tests/support/recording_file.h"
#include "tests/support/temp_file.h"
#include "traces/open.h"
#include "traces/store/store.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;

/// The events, counters and losses of a trace as text.
std::string spelled(const Trace& trace) {
  std::string text;
  for (const auto& [key, value] : trace.meta) text += fmt::format("{}={} ", key, value);
  for (const Allocation& a : trace.allocations)
    text +=
        fmt::format("{}:{}:{}:{}-{} ", static_cast<int>(a.track), trace.strings[a.name], a.bytes, a.allocNs, a.freeNs);
  for (const Span& s : trace.spans) text += fmt::format("{}@{}+{} ", trace.strings[s.name], s.startNs, s.durationNs);
  for (const Counter& c : trace.counters)
    for (const auto& [ns, value] : c.points) text += fmt::format("{}:{}={} ", trace.strings[c.name], ns, value);
  for (const Loss& loss : trace.losses) text += fmt::format("{}x{} ", loss.what, loss.count);
  return text;
}

TEST(Follower, SeesEachFlushAndNothingBetween) {
  RecordingFile r;
  const AllocationId first = r.allocate(100);
  r.writer.flush();
  TraceFollower follower(r.path);
  EXPECT_TRUE(follower.poll());
  ASSERT_EQ(follower.trace().allocations.size(), 1u);
  EXPECT_EQ(follower.trace().allocations[0].freeNs, kNever);
  EXPECT_FALSE(follower.poll());

  r.free(first);
  const CounterId counter = r.writer.addCounter(r.track, r.writer.addString("used"), r.writer.addString("bytes"));
  r.writer.addPoint(counter, 5, 1.5);
  r.allocate(200, "y");
  r.writer.addSpan({r.track, r.writer.addString("step"), 1, 2, StepId::none});
  r.writer.addLoss("records", 2);
  r.writer.flush();
  EXPECT_TRUE(follower.poll());
  EXPECT_EQ(spelled(follower.trace()), spelled(readTrace(r.path)));
  EXPECT_EQ(follower.trace().allocations[0].freeNs, 2);
  EXPECT_FALSE(follower.finished());

  r.writer.addPoint(counter, 9, 2.5);
  r.writer.finish();
  EXPECT_TRUE(follower.poll());
  EXPECT_TRUE(follower.finished());
  EXPECT_EQ(spelled(follower.trace()), spelled(readTrace(r.path)));
}

TEST(Follower, ManyChunksGiveTheSameAsReadingAll) {
  RecordingFile r;
  TraceFollower follower(r.path);
  std::vector<AllocationId> live;
  for (int i = 0; i < 200'000; ++i) {
    live.push_back(r.allocate(512 + i % 7));
    if (i % 3 == 0) {
      r.free(live.back());
      live.pop_back();
    }
    if (i % 30'000 == 29'999) {
      r.writer.flush();
      EXPECT_TRUE(follower.poll());
      EXPECT_EQ(follower.trace().allocations.size(), static_cast<size_t>(i) + 1);
    }
  }
  r.writer.flush();
  follower.poll();
  EXPECT_EQ(spelled(follower.trace()), spelled(readTrace(r.path)));
}

TEST(Follower, LeavesTheFileToItsWriter) {
  RecordingFile r;
  r.allocate(1);
  r.writer.flush();
  TraceFollower follower(r.path);
  follower.poll();
  EXPECT_TRUE(r.writer.finish()) << "nobody has the file open between polls";
  EXPECT_FALSE(std::filesystem::exists(r.path + "-wal"));
}

TEST(Follower, StartsOverWhenTheFileIsReplaced) {
  RecordingFile r;
  for (int i = 0; i < 5; ++i) r.allocate(100, "first");
  r.writer.finish();
  TraceFollower follower(r.path);
  follower.poll();
  TraceWriter second(r.path);
  const TrackId track = second.addTrack({"other", TrackKind::observed, 0});
  second.addAllocation({.track = track, .name = second.addString("second"), .bytes = 7, .allocNs = 1});
  second.finish();
  EXPECT_TRUE(follower.poll());
  ASSERT_EQ(follower.trace().allocations.size(), 1u);
  EXPECT_EQ(follower.trace().tracks[0].name, "other");
}

TEST(Follower, ErrorsNameTheFile) {
  const TempFolder folder;
  TraceFollower missing((folder.path() / "none.mbtrace").string());
  EXPECT_THAT(inputError([&] { missing.poll(); }), HasSubstr("none.mbtrace"));
  TraceFollower text(folder.write("text.mbtrace", "no database at all, and long enough to be read as one"));
  EXPECT_THAT(inputError([&] { text.poll(); }), HasSubstr("text.mbtrace"));
}

/// Fractions reported while `path` is opened.
std::vector<double> fractionsOf(const std::string& path) {
  std::vector<double> fractions;
  openTrace(path, ReadProgress([&](double fraction) { fractions.push_back(fraction); }, {}));
  return fractions;
}

void expectStops(const std::string& path) {
  std::stop_source stop;
  size_t reports = 0;
  const ReadProgress progress([&](double) { ++reports == 1 ? (void)stop.request_stop() : (void)0; }, stop.get_token());
  EXPECT_THROW(openTrace(path, progress), Interrupted) << path;
  EXPECT_EQ(reports, 1u) << "and at once";
}

TEST(ReadProgress, EveryKindOfFileReportsAndStops) {
  for (const char* name : {"conf3_moeblaze_simulated.mbtrace", "torch_snapshot_qwen3moe_2layer.pickle",
                           "kineto_qwen3moe_2layer.json.gz"}) {
    const std::string path = std::string(MOEBLAZE_SAMPLES "/") + name;
    const std::vector<double> fractions = fractionsOf(path);
    ASSERT_FALSE(fractions.empty()) << name;
    EXPECT_TRUE(std::ranges::is_sorted(fractions)) << name;
    EXPECT_GE(fractions.front(), 0);
    EXPECT_LE(fractions.back(), 1);
    expectStops(path);
  }
}

TEST(ReadProgress, PartsLieWithinTheirWhole) {
  double last = -1;
  const ReadProgress whole([&](double fraction) { last = fraction; }, {});
  whole.part(0.5, 1).part(0, 0.5).at(1.0);
  EXPECT_DOUBLE_EQ(last, 0.75);
  whole.part(0.5, 1).at(1, 4);
  EXPECT_DOUBLE_EQ(last, 0.625);
  whole.at(0, 0);
  EXPECT_DOUBLE_EQ(last, 1);
}

}  // namespace
}  // namespace moeblaze
