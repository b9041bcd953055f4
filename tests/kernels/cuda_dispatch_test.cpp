// Dispatch on a GPU: every method against the structures as they are defined. Skipped where there is no GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "core/base/error.h"
#include "core/routing/routing.h"
#include "kernels/cuda/dispatch/dispatch_run.h"

namespace moeblaze::cuda {
namespace {

class CudaDispatch : public testing::TestWithParam<DispatchMethod> {
 protected:
  void SetUp() override {
    try {
      bench_.emplace(0);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  std::optional<DispatchBench> bench_;
};
INSTANTIATE_TEST_SUITE_P(Methods, CudaDispatch, testing::ValuesIn(kDispatchMethods),
                         [](const auto& test) { return std::string(name(test.param)); });

/// The structures as they are defined, computed on the host.
HostIndex expected(const DispatchShape& shape, const std::vector<int32_t>& ids) {
  HostIndex index;
  std::vector<int32_t> slots(ids.size());
  std::iota(slots.begin(), slots.end(), 0);
  std::ranges::stable_sort(slots, {}, [&](int32_t slot) { return ids[slot]; });
  index.expertTokenOffsets.assign(shape.experts + 1, 0);
  for (int32_t expert : ids) ++index.expertTokenOffsets[expert + 1];
  std::partial_sum(index.expertTokenOffsets.begin(), index.expertTokenOffsets.end(), index.expertTokenOffsets.begin());
  index.tokenExpertIndices = ids;
  index.tokenIndexMap.resize(ids.size());
  for (size_t row = 0; row < slots.size(); ++row) {
    index.expertTokenIndices.push_back(slots[row] / shape.topK);
    index.tokenIndexMap[slots[row]] = static_cast<int32_t>(row);
  }
  return index;
}

std::vector<int32_t> drawn(const DispatchShape& shape, double alpha) {
  const MoeConfig config{
      .name = "t", .dModel = 1, .dFf = 1, .experts = shape.experts, .topK = shape.topK, .tokens = shape.tokens};
  const Routing routing = Routing::zipf(config, alpha);
  std::vector<int32_t> ids;
  for (int64_t slot = 0; slot < shape.slots(); ++slot)
    ids.push_back(routing.expertOf(slot / shape.topK, slot % shape.topK));
  return ids;
}

TEST_P(CudaDispatch, MatchesTheDefinition) {
  for (const DispatchShape& shape : std::vector<DispatchShape>{{1, 1, 1},
                                                               {5, 2, 4},
                                                               {31, 1, 2},
                                                               {33, 3, 7},
                                                               {1000, 8, 8},
                                                               {4097, 2, 100},
                                                               {777, 16, 1024},
                                                               {65536, 4, 16},
                                                               {20000, 8, 256},
                                                               {100001, 1, 3},
                                                               {3000, 5, 1000}})
    for (double alpha : {0.0, 1.5}) {
      const std::vector<int32_t> ids = drawn(shape, alpha);
      const HostIndex got = bench_->build(GetParam(), shape, ids), want = expected(shape, ids);
      EXPECT_EQ(got.expertTokenOffsets, want.expertTokenOffsets) << shape.tokens << " " << shape.experts;
      EXPECT_TRUE(got == want) << shape.tokens << "x" << shape.topK << "x" << shape.experts << " alpha " << alpha;
    }
}

TEST_P(CudaDispatch, EmptyExpertsFirstMiddleAndLast) {
  const DispatchShape shape{300, 1, 5};
  std::vector<int32_t> ids(300);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = i % 2 == 0 ? 1 : 3;
  EXPECT_TRUE(bench_->build(GetParam(), shape, ids) == expected(shape, ids));
  std::ranges::fill(ids, 2);
  EXPECT_TRUE(bench_->build(GetParam(), shape, ids) == expected(shape, ids)) << "all to one";
}

TEST_P(CudaDispatch, RepeatsBitForBit) {
  const DispatchShape shape{50000, 4, 64};
  const std::vector<int32_t> ids = drawn(shape, 1);
  const HostIndex first = bench_->build(GetParam(), shape, ids);
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(bench_->build(GetParam(), shape, ids) == first) << i;
}

TEST(CudaDevice, MissingOneIsADeviceError) { EXPECT_THROW(DispatchBench(1000), DeviceError); }

}  // namespace
}  // namespace moeblaze::cuda
