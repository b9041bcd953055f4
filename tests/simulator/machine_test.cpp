#include "simulator/cost/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/input_error.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;

constexpr const char* kValid = R"({"name": "toy", "memory_bytes": 1000, "bandwidth_bytes_per_s": 1e9,
  "peak_flops": {"bf16": 2e12, "fp32": 1e12}, "launch_ns": 100, "gemm_efficiency": [[100, 0.25], [1600, 0.75]]})";

Machine fromText(const std::string& json) {
  const TempFolder folder;
  return loadMachine(folder.write("toy.json", json));
}

TEST(Machine, ReadsTheDesignsKeys) {
  const Machine machine = fromText(kValid);
  EXPECT_EQ(machine.name, "toy");
  EXPECT_EQ(machine.memoryBytes, 1000);
  EXPECT_EQ(machine.bandwidthBytesPerS, 1e9);
  EXPECT_EQ(machine.launchNs, 100);
  EXPECT_EQ(machine.flopsOf(DType::bf16), 2e12);
  EXPECT_EQ(machine.flopsOf(DType::fp32), 1e12);
  EXPECT_THAT(inputError([&] { machine.flopsOf(DType::fp64); }),
              HasSubstr("toy: peak_flops has no figure for dtype fp64"));
}

TEST(Machine, EfficiencyIsLogLinearBetweenPoints) {
  const Machine machine = fromText(kValid);
  EXPECT_DOUBLE_EQ(machine.efficiencyAt(100), 0.25);
  EXPECT_DOUBLE_EQ(machine.efficiencyAt(400), 0.5) << "400 is half way from 100 to 1600 in the logarithm";
  EXPECT_DOUBLE_EQ(machine.efficiencyAt(1600), 0.75);
  EXPECT_DOUBLE_EQ(machine.efficiencyAt(1e9), 0.75);
  EXPECT_DOUBLE_EQ(machine.efficiencyAt(50), 0.125);
}

TEST(Machine, NamedOnesLoadInAnyCase) {
  for (const char* name : {"a100", "H100", "h200", "B200"}) EXPECT_GT(loadMachine(name).memoryBytes, int64_t{70} << 30);
  EXPECT_LT(loadMachine("a100").flopsOf(DType::bf16), loadMachine("b200").flopsOf(DType::bf16));
}

std::string errorOf(std::string json, const std::string& from, const std::string& to) {
  json.replace(json.find(from), from.size(), to);
  return inputError([&] { fromText(json); });
}

TEST(Machine, ErrorsNameFileFieldAndRange) {
  EXPECT_THAT(inputError([] { loadMachine("h20"); }), HasSubstr("did you mean 'h200'?"));
  EXPECT_THAT(inputError([] { loadMachine("gone.json"); }), HasSubstr("gone.json"));
  EXPECT_THAT(errorOf(kValid, "\"memory_bytes\": 1000", "\"memory_bytes\": 0"),
              HasSubstr("toy.json: memory_bytes 0 is out of range"));
  EXPECT_THAT(errorOf(kValid, "\"launch_ns\": 100,", ""), HasSubstr("launch_ns is missing"));
  EXPECT_THAT(errorOf(kValid, "bandwidth", "bandwith"), HasSubstr("unknown key 'bandwith_bytes_per_s'"));
  EXPECT_THAT(errorOf(kValid, "bf16", "bf17"), HasSubstr("did you mean 'bf16'?"));
  EXPECT_THAT(errorOf(kValid, "\"bf16\": 2e12, \"fp32\": 1e12", ""), HasSubstr("peak_flops must give"));
  for (const char* curve :
       {"[]", "[[100]]", "[[100, 0]]", "[[100, 1.5]]", "[[200, 0.5], [100, 0.6]]", "[[0, 0.5]]", "7", "[[\"a\", 0.5]]"})
    EXPECT_THAT(errorOf(kValid, "[[100, 0.25], [1600, 0.75]]", curve), HasSubstr("gemm_efficiency must be")) << curve;
}

}  // namespace
}  // namespace moeblaze
