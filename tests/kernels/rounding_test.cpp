#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/layer/layer_data.h"

namespace moeblaze {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(RoundTo, Bf16) {
  const auto bf16 = [](double value) { return roundTo(DType::bf16, value); };
  EXPECT_EQ(bf16(1 + 0x1p-7), 1 + 0x1p-7);
  EXPECT_EQ(bf16(1 + 0x1p-8), 1) << "tie to even, down";
  EXPECT_EQ(bf16(1 + 0x3p-8), 1 + 0x1p-6) << "tie to even, up";
  EXPECT_EQ(bf16(1 + 0x1p-8 + 0x1p-40), 1 + 0x1p-7) << "by way of float it would be a tie";
  EXPECT_EQ(bf16(-(2 - 0x1p-9)), -2);
  EXPECT_EQ(bf16(0.1), 0x1.9ap-4);
  EXPECT_EQ(bf16(0x1.fep127), 0x1.fep127) << "largest";
  EXPECT_EQ(bf16(0x1.fefffp127), 0x1.fep127);
  EXPECT_EQ(bf16(-0x1.ffp127), -kInfinity);
  EXPECT_EQ(bf16(0x1p-133), 0x1p-133) << "smallest subnormal";
  EXPECT_EQ(bf16(0x1p-134), 0);
  EXPECT_EQ(bf16(0x1.8p-134), 0x1p-133);
  EXPECT_EQ(bf16(0x1p-1074), 0);
  EXPECT_TRUE(std::isnan(bf16(std::nan(""))));
}

TEST(RoundTo, Fp16) {
  const auto fp16 = [](double value) { return roundTo(DType::fp16, value); };
  EXPECT_EQ(fp16(0.1), 0x1.998p-4);
  EXPECT_EQ(fp16(1 + 0x1p-11), 1);
  EXPECT_EQ(fp16(1 + 0x3p-11), 1 + 0x1p-9);
  EXPECT_EQ(fp16(65504), 65504) << "largest";
  EXPECT_EQ(fp16(65519.99), 65504);
  EXPECT_EQ(fp16(65520), kInfinity);
  EXPECT_EQ(fp16(1e300), kInfinity);
  EXPECT_EQ(fp16(-kInfinity), -kInfinity);
  EXPECT_EQ(fp16(0x1.004p-15), 0x1p-15) << "subnormals have fewer digits: a tie here";
  EXPECT_EQ(fp16(0x1.00cp-15), 0x1.01p-15);
  EXPECT_EQ(fp16(0x1p-24), 0x1p-24) << "smallest subnormal";
  EXPECT_EQ(fp16(-0x1p-25), 0);
  EXPECT_TRUE(std::signbit(fp16(-0x1p-25)));
}

TEST(RoundTo, WiderFormats) {
  EXPECT_EQ(roundTo(DType::fp32, 0.1), 0x1.99999ap-4);
  EXPECT_EQ(roundTo(DType::fp32, 0x1p-149), 0x1p-149);
  EXPECT_EQ(roundTo(DType::fp64, 0.1), 0.1);
}

TEST(NormRatio, DividesByTheSecond) {
  EXPECT_DOUBLE_EQ(normRatio({3, 5}, {0, 1}), 5);
  EXPECT_DOUBLE_EQ(normRatio({3, 4}, {0, 0}), 5);
  EXPECT_EQ(normRatio({}, {}), 0);
}

}  // namespace
}  // namespace moeblaze
