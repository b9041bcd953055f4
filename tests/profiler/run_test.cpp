// The commands on the host, and the comparison of a Plan with what was observed.
#include "tests/support/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/command/command_options.h"
#include "profiler/commands/commands.h"
#include "profiler/planned/plan_labels.h"
#include "profiler/planned/profiled_run.h"
#include "tests/profiler/small_plan.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

Ran prof(const std::vector<std::string>& arguments) { return run(runProfiler, "moeblaze-prof", arguments); }

/// A file keeps only the names of buffers, so this finds the buffers of its allocations by them.
void findBuffers(const Plan& plan, Trace& trace) {
  for (Allocation& allocation : trace.allocations) {
    const auto buffer = std::ranges::find(plan.buffers, trace.strings[allocation.name], &Buffer::name);
    if (buffer != plan.buffers.end()) allocation.buffer = static_cast<BufferId>(buffer - plan.buffers.begin());
  }
}

class H200Sample : public ::testing::TestWithParam<const char*> {};

// Compares the allocations that a GPU really made with today's Plan.
TEST_P(H200Sample, WasAllocatedAsIsPlannedToday) {
  Trace trace = readTrace(std::string(MOEBLAZE_SAMPLES) + "/conf1_" + GetParam() + "_h200.mbtrace");
  LayerOptions layer;
  layer.config = "conf1";
  layer.tokens = "4096";
  const MoeConfig config = layer.load().layer;
  const Plan plan = buildPlan(config, parseRouting("balanced", config), System::parse(GetParam()));
  findBuffers(plan, trace);
  const auto memory = std::ranges::find(trace.tracks, "GPU 0 memory", &Track::name);
  ASSERT_NE(memory, trace.tracks.end());
  const PlanComparison comparison =
      compareWithPlan(plan, trace, static_cast<TrackId>(memory - trace.tracks.begin()), 0, {});
  EXPECT_EQ(comparison.iterations, 2);
  EXPECT_EQ(comparison.worstDifference(), 0);
  EXPECT_GT(comparison.plannedPeak, 0);
}

INSTANTIATE_TEST_SUITE_P(Systems, H200Sample,
                         ::testing::Values("moeblaze", "moeblaze-paper", "moeblaze-min", "megablocks"));

/// The recording of a run that does exactly what is planned and takes 10 ns for each Step.
Trace asPlanned(const Plan& plan, int iterations) {
  Trace trace;
  trace.tracks = {{"GPU 0 memory", TrackKind::observed}, {"GPU 0 stream 7 kernels", TrackKind::observed}};
  const std::vector<int64_t> stepNs(plan.steps.size(), 10);
  for (int k = 0; k < iterations; ++k) {
    const int64_t startNs = 1000 * (k + 1);
    const Trace once = makeTrace(plan, stepNs);
    for (Span span : once.spans) {
      span.track = TrackId{1};
      span.startNs += startNs;
      trace.spans.push_back(span);
    }
    for (Allocation allocation : once.allocations) {
      allocation.track = TrackId{0};
      allocation.name = trace.strings.add(once.strings[allocation.name]);
      allocation.allocNs += startNs;
      allocation.freeNs = allocation.freeNs == kNever ? startNs + 999 : allocation.freeNs + startNs;
      trace.allocations.push_back(allocation);
    }
  }
  return trace;
}

TEST(PlanComparisonTest, ARunAsPlannedIsEqual) {
  const auto [plan, routing] = smallPlan("megablocks");
  const Trace trace = asPlanned(plan, 3);
  const PlanComparison comparison = compareWithPlan(plan, trace, TrackId{0}, 1, {});
  EXPECT_EQ(comparison.iterations, 3);
  EXPECT_EQ(comparison.worstDifference(), 0);
  EXPECT_EQ(comparison.observedPeak, memoryFigures(plan).peak);
  EXPECT_THAT(comparison.hidden, SizeIs(0));
  EXPECT_EQ(comparison.measuredNs, 10 * std::ssize(plan.steps));
  for (const StepComparison& step : comparison.steps) EXPECT_EQ(step.measuredNs, 10);
}

TEST(PlanComparisonTest, AByteMoreIsSeen) {
  const auto [plan, routing] = smallPlan("moeblaze");
  Trace trace = asPlanned(plan, 3);
  trace.allocations[5].bytes += 1;
  const PlanComparison comparison = compareWithPlan(plan, trace, TrackId{0}, 1, {});
  EXPECT_EQ(comparison.worstDifference(), 1);
  EXPECT_EQ(std::ranges::count(comparison.buffers, false, &BufferComparison::matches), 1);
}

TEST(PlanComparisonTest, AMissingAllocationIsSeen) {
  const auto [plan, routing] = smallPlan("moeblaze");
  Trace trace = asPlanned(plan, 2);
  trace.allocations.erase(trace.allocations.begin() + 4);
  EXPECT_GE(compareWithPlan(plan, trace, TrackId{0}, 0, {}).worstDifference(), 1);
}

TEST(PlanComparisonTest, AnAllocationIsComparedByItsBufferAndNotByItsName) {
  const auto [plan, routing] = smallPlan("megablocks");
  Trace trace = asPlanned(plan, 2);
  for (Allocation& allocation : trace.allocations) allocation.name = trace.strings.add(plan.buffers[0].name);
  EXPECT_EQ(compareWithPlan(plan, trace, TrackId{0}, 0, {}).worstDifference(), 0);
  trace = asPlanned(plan, 2);
  Allocation& unlabelled = trace.allocations[4];
  unlabelled.buffer = BufferId::none;
  const PlanComparison comparison = compareWithPlan(plan, trace, TrackId{0}, 0, {});
  EXPECT_GE(comparison.worstDifference(), 1);
  ASSERT_THAT(comparison.hidden, SizeIs(1));
  EXPECT_EQ(comparison.hidden[0].name, trace.strings[unlabelled.name]);
}

TEST(PlanComparisonTest, WhatNoPlanListsIsHidden) {
  const auto [plan, routing] = smallPlan("moeblaze");
  Trace trace = asPlanned(plan, 2);
  for (int64_t at : {5, 1500})
    trace.allocations.push_back(
        {.track = TrackId{0}, .name = trace.strings.add("scratch"), .bytes = 77, .allocNs = at, .freeNs = at + 20});
  const PlanComparison comparison = compareWithPlan(plan, trace, TrackId{0}, 0, {});
  ASSERT_THAT(comparison.hidden, SizeIs(1));
  EXPECT_EQ(comparison.hidden[0].name, "scratch");
  EXPECT_EQ(comparison.hidden[0].count, 2);
  EXPECT_EQ(comparison.hidden[0].bytes, 77);  // the two are never alive at the same time
  EXPECT_EQ(comparison.worstDifference(), 0);
}

TEST(PlanComparisonTest, WarmUpsDoNotCountForTimes) {
  const auto [plan, routing] = smallPlan("moeblaze");
  Trace trace = asPlanned(plan, 3);
  for (Span& span : trace.spans)
    if (span.startNs < 2000 && span.step == StepId{0}) span.startNs -= 500, span.durationNs += 500;
  const auto stepTime = [&](int64_t warmUps) {
    return compareWithPlan(plan, trace, TrackId{0}, warmUps, {}).steps[0].measuredNs;
  };
  EXPECT_EQ(stepTime(1), 10);
  EXPECT_EQ(stepTime(5), 10);  // there are no others: the median of all three
}

TEST(PlanComparisonTest, ThePlannedTrackLiesOverTheObservedOne) {
  const auto [plan, routing] = smallPlan("moeblaze-min");
  Trace trace = asPlanned(plan, 2);
  addPlannedTrack(plan, trace);
  const MemoryCurve planned(trace, TrackId{2}), observed(trace, TrackId{0});
  EXPECT_EQ(planned.peak().bytes, observed.peak().bytes);
  EXPECT_EQ(planned.peak().timeNs, observed.peak().timeNs);
  for (const MemoryCurve::Point& point : planned.points())
    if (point.timeNs < 1000 + 10 * std::ssize(plan.steps)) {
      EXPECT_EQ(point.bytes, observed.bytesAt(point.timeNs)) << point.timeNs;
    }
}

TEST(StartAtTest, WhatIsOverGoesAndWhatLivesIsOlder) {
  Trace trace;
  trace.tracks = {{"GPU 0 memory", TrackKind::observed}};
  trace.spans = {{TrackId{0}, StringId::empty, 0, 100}, {TrackId{0}, StringId::empty, 90, 20}};
  trace.allocations = {{.bytes = 1, .allocNs = 5, .freeNs = 100},
                       {.bytes = 2, .allocNs = 5, .freeNs = 130, .freeRequestedNs = 80},
                       {.bytes = 3, .allocNs = 5},
                       {.bytes = 4, .allocNs = 120, .freeNs = 130},
                       {.bytes = 5, .allocNs = 20, .freeNs = 110, .step = StepId{3}}};
  trace.counters = {{.points = {{10, 1.0}, {50, 2.0}, {120, 3.0}}}};
  startAt(trace, 100);
  ASSERT_THAT(trace.spans, SizeIs(1));
  EXPECT_EQ(trace.spans[0].startNs, -10);
  ASSERT_THAT(trace.allocations, SizeIs(3));
  EXPECT_TRUE(trace.allocations[0].older);
  EXPECT_EQ(trace.allocations[0].allocNs, 0);
  EXPECT_EQ(trace.allocations[0].freeNs, 30);
  EXPECT_EQ(trace.allocations[0].freeRequestedNs, 0);
  EXPECT_EQ(trace.allocations[1].freeNs, kNever);
  EXPECT_FALSE(trace.allocations[2].older);
  EXPECT_EQ(trace.allocations[2].allocNs, 20);
  EXPECT_THAT(trace.counters[0].points,
              ::testing::ElementsAre(std::pair(int64_t{0}, 2.0), std::pair(int64_t{20}, 3.0)));
}

TEST(PlanLabelsTest, SayWhatCallsAreFor) {
  const auto [plan, routing] = smallPlan("moeblaze");
  const PlanLabels labels(plan);
  EXPECT_EQ(labels(PlanLabels::idOf(StepId{2}))->step, StepId{2});
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const auto label = labels(PlanLabels::idOf(static_cast<BufferId>(i)));
    ASSERT_TRUE(label);
    EXPECT_EQ(label->name, plan.buffers[i].name);
    EXPECT_EQ(label->buffer, static_cast<BufferId>(i));
    EXPECT_EQ(label->given, plan.buffers[i].external);
  }
  EXPECT_TRUE(labels(PlanLabels::kGiven)->given);
  EXPECT_FALSE(labels(0));
  EXPECT_FALSE(labels(PlanLabels::idOf(static_cast<StepId>(plan.steps.size()))));
}

TEST(RunCommand, OnTheHostEveryBufferIsAsPlannedAndTheTraceHasBothTracks) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("run_test." + std::to_string(getpid()) + ".mbtrace")).string();
  const Ran ran = prof({"run", "conf1", "--tokens", "64", "--system", "megablocks", "--backend", "host", "--gpu",
                        "h200", "--format", "json", "-o", file});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto record = nlohmann::json::parse(ran.out).at(0);
  EXPECT_EQ(record.at("worst_difference_bytes"), 0);
  EXPECT_EQ(record.at("iterations"), 4);
  EXPECT_GT(record.at("planned_peak_bytes"), 0);
  EXPECT_GT(record.at("measured_ms"), 0.0);
  EXPECT_GT(record.at("predicted_ms"), 0.0);
  EXPECT_FALSE(record.at("steps").empty());
  const Trace trace = readTrace(file);
  std::filesystem::remove(file);
  ASSERT_THAT(trace.tracks, SizeIs(2));
  EXPECT_EQ(MemoryCurve(trace, TrackId{0}).peak().bytes, MemoryCurve(trace, TrackId{1}).peak().bytes);
}

TEST(RunCommand, WrongInputIsNamed) {
  EXPECT_EQ(prof({"run", "conf1", "--backend", "hots"}).status, 2);
  EXPECT_THAT(prof({"run", "conf1", "--backend", "hots"}).err, HasSubstr("did you mean 'host'?"));
  EXPECT_EQ(prof({"run", "conf1", "--system", "megablok", "--backend", "host"}).status, 2);
  EXPECT_EQ(prof({"run", "conf1", "--steps", "0", "--backend", "host"}).status, 2);
  EXPECT_EQ(prof({"record"}).status, 2);
  EXPECT_EQ(
      prof({"bench", "conf1", "--only", "half"}).status == 2 || prof({"bench", "conf1", "--only", "half"}).status == 3,
      true);
}

/// A config file of a layer so small that many steps run within a second, on every machine and under sanitizers.
class SmallConfigFile {
 public:
  SmallConfigFile()
      : path_((std::filesystem::temp_directory_path() / ("small." + std::to_string(getpid()) + ".json")).string()) {
    std::ofstream(path_) << R"({"d_model": 64, "d_ff": 128, "experts": 4, "top_k": 2, "tokens": 32})";
  }
  ~SmallConfigFile() { std::filesystem::remove(path_); }
  const char* path() const { return path_.c_str(); }

 private:
  std::string path_;
};

/// Sends this process a Ctrl-C after `wait`.
class InterruptAfter {
 public:
  explicit InterruptAfter(std::chrono::milliseconds wait)
      : thread_([wait] {
          std::this_thread::sleep_for(wait);
          kill(getpid(), SIGINT);
        }) {}
  ~InterruptAfter() { thread_.join(); }

 private:
  std::thread thread_;
};

TEST(RunCommand, ACtrlCLeavesWhatWasMeasured) {
  const std::string file =
      (std::filesystem::temp_directory_path() / ("interrupt_test." + std::to_string(getpid()) + ".mbtrace")).string();
  const SmallConfigFile config;
  Ran ran;
  {
    const InterruptAfter interrupt(std::chrono::milliseconds(1500));
    ran = prof({"run", config.path(), "--backend", "host", "--steps", "10000", "--format", "json", "-o", file});
  }
  EXPECT_EQ(ran.status, 130) << ran.err;
  const auto record = nlohmann::json::parse(ran.out).at(0);
  EXPECT_GE(record.at("iterations"), 1);
  EXPECT_LT(record.at("iterations"), 10000);
  EXPECT_EQ(record.at("worst_difference_bytes"), 0);
  EXPECT_FALSE(readTrace(file).allocations.empty());
  std::filesystem::remove(file);
}

TEST(ValidateCommand, ACtrlCLeavesTheRowsThatWereMeasured) {
  const SmallConfigFile config;
  Ran ran;
  {
    const InterruptAfter interrupt(std::chrono::milliseconds(2500));
    ran = prof({"validate", config.path(), "--systems", "moeblaze,megablocks", "--backend", "host", "--steps", "10000",
                "--format", "json"});
  }
  EXPECT_EQ(ran.status, 130) << ran.err;
  EXPECT_EQ(nlohmann::json::parse(ran.out).size(), 1u);
}

TEST(RecordCommand, HandsTheProgramItsWordsAsTheyAre) {
  const auto folder = std::filesystem::temp_directory_path() / ("record_words." + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  const std::string script = "printf '<%s>' \"$@\" > " + (folder / "words").string() + "; exit 5";
  const Ran ran = prof({"record", "-o", (folder / "x.mbtrace").c_str(), "--", "sh", "-c", script.c_str(), "x", "[1,2]",
                        "plain,3", "", "[]", "--", "--help"});
  std::ifstream in(folder / "words");
  const std::string words((std::istreambuf_iterator<char>(in)), {});
  std::filesystem::remove_all(folder);
  if (ran.status == 3) GTEST_SKIP() << "this build cannot record";
  EXPECT_EQ(ran.status, 5) << ran.err;
  EXPECT_EQ(words, "<[1,2]><plain,3><><[]><--><--help>");
}

TEST(RecordCommand, LeavesWhatIsThereAlone) {
  const auto file = std::filesystem::temp_directory_path() / ("record_kept." + std::to_string(getpid()) + ".mbtrace");
  std::ofstream(file) << "kept";
  const Ran ran = prof({"record", "-o", file.string(), "--", "/no/such/program"});
  EXPECT_TRUE(ran.status == 2 || ran.status == 3) << ran.err;
  EXPECT_EQ(std::filesystem::file_size(file), 4u);
  std::filesystem::remove(file);
  EXPECT_NE(prof({"record", "-o", "/dev/null", "--", "true"}).status, 0);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

TEST(ValidateCommand, RowsAreWithinToleranceOnTheHost) {
  const Ran ran = prof({"validate", "conf1", "--tokens", "32", "--systems", "moeblaze,torch,megablocks", "--backend",
                        "host", "--steps", "1", "--format", "json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto rows = nlohmann::json::parse(ran.out);
  ASSERT_EQ(rows.size(), 3u);
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("unequal_buffers"), 0) << row.dump();
    EXPECT_EQ(row.at("hidden_bytes"), 0);
    EXPECT_TRUE(row.at("predicted_ms").is_null());
  }
}

TEST(ValidateCommand, PastAToleranceTheStatusIsOneAndTheWorstRowFirst) {
  const Ran ran = prof({"validate", "conf1", "--tokens", "32", "--systems", "moeblaze,megablocks", "--backend", "host",
                        "--gpu", "h200", "--tolerance-time", "1", "--steps", "1", "--format", "json"});
  EXPECT_EQ(ran.status, 1) << ran.err;
  const auto rows = nlohmann::json::parse(ran.out);
  EXPECT_GE(std::abs(rows[0].at("time_error_percent").get<double>()),
            std::abs(rows[1].at("time_error_percent").get<double>()));
  EXPECT_EQ(prof({"validate", "conf1", "--tolerance-time", "-1", "--backend", "host"}).status, 2);
  EXPECT_EQ(prof({"validate", "conf1", "--tolerance-time", "5", "--backend", "host"}).status, 2);
}

TEST(DoctorCommand, SaysWhatWorksAndHowToMendTheRest) {
  const Ran ran = prof({"doctor", "--format", "json"});
  EXPECT_TRUE(ran.status == 0 || ran.status == 3);
  bool allWork = true;
  for (const auto& row : nlohmann::json::parse(ran.out)) {
    allWork = allWork && row.at("works").get<bool>();
    EXPECT_NE(row.at("works").get<bool>(), !row.at("remedy").get<std::string>().empty()) << row.dump();
  }
  EXPECT_EQ(ran.status == 0, allWork);
}

}  // namespace
}  // namespace moeblaze::profiler
