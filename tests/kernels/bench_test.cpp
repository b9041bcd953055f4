#include "kernels/bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run.h"

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

TEST(BenchPlan, WrongInputIsOneLineAndStatus2) {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{{},
                                                                                         {"plan", "conf9"},
                                                                                         {"plan", "--system", "none"},
                                                                                         {"plan", "--seconds", "-1"},
                                                                                         {"plan", "--seconds", "nan"},
                                                                                         {"pln"}}) {
    const Ran ran = bench(arguments);
    EXPECT_EQ(ran.status, 2);
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
    EXPECT_EQ(ran.out, "");
  }
}

}  // namespace
}  // namespace moeblaze
