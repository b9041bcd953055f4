// `moeblaze-prof run` and `validate` on a GPU.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "profiler/planned/profile_cuda.h"
#include "tests/profiler/small_plan.h"

namespace moeblaze::profiler {
namespace {

bool hasGpu() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess && count > 0;
}

class RunOnGpu : public ::testing::TestWithParam<const char*> {};

TEST_P(RunOnGpu, EveryBufferIsAllocatedAsPlanned) {
  if (!hasGpu()) GTEST_SKIP() << "no NVIDIA GPU here";
  const auto [plan, routing] = smallPlan(GetParam());
  const ProfiledRun run = profileOnCuda(plan, routing, {.warmUps = 1, .steps = 2, .predictedNs = {}});
  const PlanComparison& comparison = run.comparison;
  EXPECT_EQ(comparison.iterations, 3);
  for (const BufferComparison& row : comparison.buffers) EXPECT_TRUE(row.matches) << row.name << ' ' << row.observed;
  EXPECT_EQ(comparison.observedPeak, comparison.plannedPeak);
  EXPECT_EQ(comparison.worstDifference(), 0);
  EXPECT_GT(comparison.measuredNs, 0);
  for (const Loss& loss : run.trace.losses) ADD_FAILURE() << loss.count << ' ' << loss.what;
  // The trace has the planned track, with the peak of the Plan, and the NVTX ranges.
  const auto trackNamed = [&](const std::string& part) {
    for (size_t i = 0; i < run.trace.tracks.size(); ++i)
      if (run.trace.tracks[i].name.find(part) != std::string::npos) return static_cast<TrackId>(i);
    return TrackId::none;
  };
  ASSERT_NE(trackNamed("planned"), TrackId::none);
  EXPECT_EQ(MemoryCurve(run.trace, trackNamed("planned")).peak().bytes, comparison.plannedPeak);
  EXPECT_NE(trackNamed("NVTX"), TrackId::none);
}

INSTANTIATE_TEST_SUITE_P(Systems, RunOnGpu,
                         ::testing::Values("moeblaze", "moeblaze-paper", "moeblaze-min", "megablocks", "torch"));

}  // namespace
}  // namespace moeblaze::profiler
