#include "kernels/bench/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run.h"
#include "tests/support/temp_file.h"
#include "traces/store/store.h"

namespace moeblaze {
namespace {

Ran bench(const std::vector<std::string>& arguments) { return run(runBench, "moeblaze-bench", arguments); }

TEST(BenchPlan, ReportsSimulationsPerSecond) {
  const Ran ran = bench({"plan", "--seconds", "0.05", "--json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto record = ran.json().at(0);
  EXPECT_EQ(record["config"], "conf3");
  EXPECT_EQ(record["system"], "moeblaze");
  EXPECT_GT(record["simulations_per_second"].get<double>(), 0);
  EXPECT_EQ(record["peak_bytes"], 6983516228) << "it must have simulated, not looped over nothing";
}

TEST(BenchPlan, TakesAnyConfigAndSystem) {
  const Ran ran = bench({"plan", "deepseek-v3", "--system", "momoe", "--seconds", "0.01"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::HasSubstr("deepseek-v3 momoe:save=0"));
}

constexpr const char* kSmall = R"({"d_model": 16, "d_ff": 32, "experts": 4, "top_k": 2, "tokens": 50})";

TEST(BenchLayer, RunsEverySystemAndObservesWhatWasPlanned) {
  const TempFolder folder;
  const std::string config = folder.write("small.json", kSmall);
  const Ran ran = bench({"layer", config, "--systems", "all", "--repeat", "1", "--format", "json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_EQ(ran.json().size(), 13u);
  for (const auto& record : ran.json()) {
    EXPECT_EQ(record["observed_peak_bytes"], record["planned_peak_bytes"]) << record["system"];
    EXPECT_GT(record["forward_ms"].get<double>(), 0);
    EXPECT_GT(record["backward_ms"].get<double>(), 0);
  }
}

TEST(BenchLayer, MoreThanThisMachineHoldsIsStatus3BeforeAnythingRuns) {
  const Ran ran = bench({"layer", "conf4", "--tokens", "500000000", "--systems", "moeblaze"});
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.err, testing::HasSubstr("give fewer --tokens"));
}

TEST(BenchLayer, WritesTheLastRunAsATrace) {
  const TempFolder folder;
  const std::string config = folder.write("small.json", kSmall), file = (folder.path() / "run.mbtrace").string();
  ASSERT_EQ(bench({"layer", config, "--systems", "megablocks", "--repeat", "1", "--trace", file}).status, 0);
  const Trace trace = readTrace(file);
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(MemoryCurve(trace, TrackId{0}).peak().bytes, MemoryCurve(trace, TrackId{1}).peak().bytes);
  EXPECT_EQ(bench({"layer", config, "--systems", "megablocks,torch", "--trace", file}).status, 2);
}

TEST(BenchLayer, TableNamesPaddingAndDrops) {
  const TempFolder folder;
  const std::string config = folder.write("small.json", kSmall);
  const Ran ran = bench({"layer", config, "--systems", "gshard:capacity=1,megablocks-sparse", "--routing", "zipf:1",
                         "--repeat", "1", "--dtype", "fp32"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_THAT(ran.out, testing::HasSubstr("dropped slots"));
  EXPECT_THAT(ran.out, testing::HasSubstr("gshard:capacity=1"));
}

TEST(BenchDispatch, WithoutAGpuSaysSoWithStatus3) {
  const Ran ran = bench({"dispatch", "--repeat", "1", "--shapes", "64x2x4", "--format", "json"});
  if (ran.status == 0) {
    EXPECT_EQ(ran.json().size(), 3u);
    return;
  }
  EXPECT_EQ(ran.status, 3);
  EXPECT_THAT(ran.err, testing::AnyOf(testing::HasSubstr("GPU"), testing::HasSubstr("CUDA")));
}

TEST(BenchGpu, WithoutAGpuSaysSoWithStatus3) {
  const TempFolder folder;
  const std::string config = folder.write("small.json", kSmall);
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"layer", config, "--backend", "cuda", "--repeat", "1", "--format", "json"},
           {"gemm", config, "--repeat", "1", "--format", "json"}}) {
    const Ran ran = bench(arguments);
    if (ran.status == 0) {
      EXPECT_GE(ran.json().size(), 2u) << arguments[0];
      continue;
    }
    EXPECT_EQ(ran.status, 3) << ran.err;
    EXPECT_THAT(ran.err, testing::AnyOf(testing::HasSubstr("GPU"), testing::HasSubstr("CUDA")));
  }
}

TEST(BenchGpu, WhatDoesNotRunThereIsStatus2) {
  const Ran ran = bench({"layer", "conf5", "--backend", "cuda", "--systems", "scattermoe"});
  EXPECT_THAT(ran.status, testing::AnyOf(2, 3)) << "3 in builds without CUDA";
  EXPECT_THAT(ran.err, testing::HasSubstr("CUDA"));
  EXPECT_EQ(bench({"layer", "conf5", "--forward"}).status, 2);
}

TEST(BenchPlan, WrongInputIsOneLineAndStatus2) {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"plan", "conf9"},
                                             {"plan", "--system", "none"},
                                             {"plan", "--seconds", "-1"},
                                             {"plan", "--seconds", "nan"},
                                             {"pln"},
                                             {"layer"},
                                             {"layer", "conf5", "--backend", "cuda2"},
                                             {"layer", "conf5", "--dtype", "bf17"},
                                             {"layer", "conf5", "--repeat", "0"},
                                             {"layer", "conf5", "--format", "x"}}) {
    const Ran ran = bench(arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace moeblaze
