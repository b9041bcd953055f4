#include "core/trace/live_by_address.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace moeblaze {
namespace {

TEST(LiveByAddress, AFreeEndsWhatLivesAtItsAddress) {
  LiveByAddress<int> live;
  EXPECT_EQ(live.allocate(64, 1), std::nullopt);
  EXPECT_EQ(live.allocate(128, 2), std::nullopt);
  EXPECT_EQ(live.free(64), 1);
  EXPECT_EQ(live.free(64), std::nullopt) << "only once";
  EXPECT_EQ(live.find(64), nullptr);
  EXPECT_EQ(*live.find(128), 2);
}

TEST(LiveByAddress, AllocatingAgainReturnsWhatWasThere) {
  LiveByAddress<std::shared_ptr<int>> live;
  live.allocate(64, std::make_shared<int>(1));
  EXPECT_EQ(**live.allocate(64, std::make_shared<int>(2)), 1);
  EXPECT_EQ(**live.free(64), 2);
}

TEST(LiveByAddress, KnowsTheNextAddressAndTheOrder) {
  LiveByAddress<int> live;
  for (uint64_t address : {512, 64, 128}) live.allocate(address, static_cast<int>(address));
  EXPECT_EQ(live.nextAfter(64), 128u);
  EXPECT_EQ(live.nextAfter(0), 64u);
  EXPECT_EQ(live.nextAfter(512), std::nullopt);
  std::vector<int> values;
  for (const auto& [address, value] : live) values.push_back(value);
  EXPECT_EQ(values, (std::vector<int>{64, 128, 512}));
}

}  // namespace
}  // namespace moeblaze
