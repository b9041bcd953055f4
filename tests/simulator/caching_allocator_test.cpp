#include "simulator/allocator/caching_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/support/input_error.h"

namespace moeblaze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

std::vector<int64_t> blockBytes(const AllocatorSegment& segment) {
  std::vector<int64_t> bytes;
  for (const AllocatorBlock& block : segment.blocks) bytes.push_back(block.bytes);
  return bytes;
}

TEST(CachingAllocator, RoundsAsPyTorchDoes) {
  EXPECT_EQ(roundedBytes(1), 512);
  EXPECT_EQ(roundedBytes(512), 512);
  EXPECT_EQ(roundedBytes(513), 1024);
  EXPECT_EQ(segmentBytesFor(512), 2 * kMiB);
  EXPECT_EQ(segmentBytesFor(kMiB), 2 * kMiB);
  EXPECT_EQ(segmentBytesFor(kMiB + 512), 20 * kMiB);
  EXPECT_EQ(segmentBytesFor(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(segmentBytesFor(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(segmentBytesFor(10 * kMiB + 512), 12 * kMiB);
}

TEST(CachingAllocator, CountsBlocksSegmentsAndRequests) {
  CachingAllocator allocator({});
  ASSERT_TRUE(allocator.allocate(0, 1, 0));
  EXPECT_EQ(allocator.allocatedBytes(), 512);
  EXPECT_EQ(allocator.requestedBytes(), 1);
  EXPECT_EQ(allocator.reservedBytes(), 2 * kMiB);
  allocator.free(0);
  EXPECT_EQ(allocator.allocatedBytes(), 0);
  EXPECT_EQ(allocator.requestedBytes(), 0);
  EXPECT_EQ(allocator.reservedBytes(), 2 * kMiB) << "cached";
  EXPECT_EQ(allocator.allocate(1, 0, 0), 0u) << "nothing takes no memory";
  allocator.free(1);
  allocator.free(77);
  EXPECT_EQ(allocator.allocatedBytes(), 0);
}

TEST(CachingAllocator, SmallSegmentsSplitDownToOneUnit) {
  CachingAllocator allocator({});
  allocator.allocate(0, kMiB, 0);
  allocator.allocate(1, kMiB - 512, 0);
  ASSERT_EQ(allocator.segments().size(), 1u);
  EXPECT_THAT(blockBytes(allocator.segments()[0]), ElementsAre(kMiB, kMiB - 512, 512));
  allocator.allocate(2, 512, 0);
  EXPECT_EQ(allocator.allocatedBytes(), 2 * kMiB);
  allocator.allocate(3, 1, 0);
  EXPECT_EQ(allocator.reservedBytes(), 4 * kMiB);
}

TEST(CachingAllocator, LargeBlocksSplitOnlyWhenMoreThanAMebibyteIsLeft) {
  CachingAllocator allocator({});
  allocator.allocate(0, 19 * kMiB, 0);
  EXPECT_EQ(allocator.allocatedBytes(), 20 * kMiB) << "1 MiB is not worth a block";
  EXPECT_EQ(allocator.requestedBytes(), 19 * kMiB);
  allocator.allocate(1, 19 * kMiB - 512, 0);
  EXPECT_EQ(allocator.allocatedBytes(), 39 * kMiB - 512);
  EXPECT_THAT(blockBytes(allocator.segments()[1]), ElementsAre(19 * kMiB - 512, kMiB + 512));
}

TEST(CachingAllocator, PoolsDoNotMix) {
  CachingAllocator allocator({});
  allocator.allocate(0, kMiB + 1, 0);
  EXPECT_EQ(allocator.reservedBytes(), 20 * kMiB);
  allocator.allocate(1, kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), 22 * kMiB) << "18 MiB are free, and not for small requests";
  EXPECT_TRUE(allocator.segments()[1].small);
  allocator.allocate(2, 5 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), 22 * kMiB);
}

TEST(CachingAllocator, BestFitThenLowestAddress) {
  CachingAllocator allocator({});
  for (size_t id : {0, 1, 2, 3}) allocator.allocate(id, (id == 0 ? 40 : 30) * kMiB, 0);
  const auto first = *allocator.addressOf(0), second = *allocator.addressOf(1), third = *allocator.addressOf(2);
  for (size_t id : {2, 0, 1}) allocator.free(id);
  EXPECT_EQ(allocator.allocate(4, 30 * kMiB, 0), second) << "the smallest that fits, of equals the lowest";
  EXPECT_EQ(allocator.allocate(5, 29 * kMiB, 0), third);
  EXPECT_EQ(allocator.allocate(6, 30 * kMiB, 0), first);
}

TEST(CachingAllocator, GivenAddressesBreakTies) {
  uint64_t next = 0x9000000000;
  CachingAllocator allocator({.segmentAddress = [&](int64_t, int64_t) { return next -= 0x100000000; }});
  EXPECT_EQ(allocator.allocate(0, 30 * kMiB, 0), 0x8f00000000u);
  EXPECT_EQ(allocator.allocate(1, 30 * kMiB, 0), 0x8e00000000u);
  allocator.free(0);
  allocator.free(1);
  EXPECT_EQ(allocator.allocate(2, 30 * kMiB, 0), 0x8e00000000u) << "taken later, lies lower";
}

TEST(CachingAllocator, AnAddressThatIsTakenIsNotUsed) {
  CachingAllocator allocator({.segmentAddress = [](int64_t, int64_t) { return uint64_t{0x8000000000}; }});
  EXPECT_EQ(allocator.allocate(0, 30 * kMiB, 0), 0x8000000000u);
  EXPECT_GE(allocator.allocate(1, 30 * kMiB, 0), 0x8000000000u + 30 * kMiB);
}

TEST(CachingAllocator, StreamsShareNothing) {
  CachingAllocator allocator({});
  allocator.allocate(0, 30 * kMiB, 0);
  allocator.free(0);
  allocator.allocate(1, 30 * kMiB, 7);
  EXPECT_EQ(allocator.reservedBytes(), 60 * kMiB);
  allocator.allocate(2, 30 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), 60 * kMiB);
}

TEST(CachingAllocator, FreeNeighboursJoin) {
  CachingAllocator allocator({});
  for (size_t id : {0, 1, 2}) allocator.allocate(id, 4 * kMiB, 0);
  EXPECT_THAT(blockBytes(allocator.segments()[0]), ElementsAre(4 * kMiB, 4 * kMiB, 4 * kMiB, 8 * kMiB));
  allocator.free(0);
  allocator.free(2);
  EXPECT_THAT(blockBytes(allocator.segments()[0]), ElementsAre(4 * kMiB, 4 * kMiB, 12 * kMiB));
  allocator.free(1);
  EXPECT_THAT(blockBytes(allocator.segments()[0]), ElementsAre(20 * kMiB));
}

TEST(CachingAllocator, PendingBlocksAreNeitherAllocatedNorReusable) {
  CachingAllocator allocator({});
  allocator.allocate(0, 30 * kMiB, 0);
  allocator.requestFree(0);
  EXPECT_EQ(allocator.allocatedBytes(), 0);
  EXPECT_EQ(allocator.requestedBytes(), 30 * kMiB);
  EXPECT_EQ(allocator.segments()[0].blocks[0].state, BlockState::pending);
  allocator.allocate(1, 30 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), 60 * kMiB);
  allocator.free(0);
  allocator.allocate(2, 30 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), 60 * kMiB);
}

TEST(CachingAllocator, GivesBackCachedSegmentsBeforeItRunsOut) {
  std::vector<std::pair<bool, int64_t>> events;
  CachingAllocator allocator({.capacityBytes = 64 * kMiB, .observer = [&](const SegmentEvent& event) {
                                events.emplace_back(event.taken, event.bytes);
                              }});
  allocator.allocate(0, 30 * kMiB, 0);
  allocator.allocate(1, 4 * kMiB, 0);
  allocator.allocate(2, 512, 0);
  allocator.free(0);
  allocator.free(2);
  ASSERT_TRUE(allocator.allocate(3, 32 * kMiB, 0));
  EXPECT_THAT(events, ElementsAre(std::pair(true, 30 * kMiB), std::pair(true, 20 * kMiB), std::pair(true, 2 * kMiB),
                                  std::pair(false, 30 * kMiB), std::pair(false, 2 * kMiB), std::pair(true, 32 * kMiB)))
      << "large ones first; the segment that holds a block stays";
  EXPECT_EQ(allocator.reservedBytes(), 52 * kMiB);
  EXPECT_FALSE(allocator.allocate(4, 17 * kMiB, 0)) << "16 MiB are free in a segment, 12 on the device";
  EXPECT_FALSE(allocator.addressOf(4));
  EXPECT_TRUE(allocator.allocate(5, 16 * kMiB, 0));
}

TEST(CachingAllocator, RunningOutWaitsForPendingBlocks) {
  CachingAllocator allocator({.capacityBytes = 30 * kMiB});
  allocator.allocate(0, 30 * kMiB, 0);
  allocator.requestFree(0);
  EXPECT_TRUE(allocator.allocate(1, 30 * kMiB, 0));
  allocator.free(0);
  EXPECT_EQ(allocator.allocatedBytes(), 30 * kMiB) << "0 was free already";
}

TEST(CachingAllocator, OversizedBlocksAreNeverSplit) {
  CachingAllocator allocator({.maxSplitBytes = 32 * kMiB});
  allocator.allocate(0, 64 * kMiB, 0);
  allocator.free(0);
  allocator.allocate(1, 12 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), 76 * kMiB) << "12 MiB may not break up 64";
  allocator.allocate(2, 44 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), 120 * kMiB) << "20 MiB would be left over";
  allocator.allocate(3, 44 * kMiB + 512, 0);
  EXPECT_EQ(allocator.reservedBytes(), 120 * kMiB);
  EXPECT_EQ(allocator.allocatedBytes(), 120 * kMiB) << "and what is left over is the block's";
  EXPECT_THAT(inputError([] { CachingAllocator({.maxSplitBytes = 20 * kMiB}); }), HasSubstr("max_split_size"));
}

TEST(CachingAllocator, GivesBackNoMoreOversizedBlocksThanNeeded) {
  CachingAllocator allocator({.capacityBytes = 200 * kMiB, .maxSplitBytes = 32 * kMiB});
  for (size_t id : {0, 1, 2}) allocator.allocate(id, (40 + 20 * static_cast<int64_t>(id)) * kMiB, 0);
  allocator.allocate(3, 12 * kMiB, 0);
  for (size_t id : {0, 1, 2, 3}) allocator.free(id);
  allocator.allocate(4, 82 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), (40 + 82 + 12) * kMiB) << "80 is too small: the largest go until 82 are free";
  allocator.allocate(5, 20 * kMiB, 0);
  allocator.allocate(6, 28 * kMiB, 0);
  allocator.allocate(7, 30 * kMiB, 0);
  EXPECT_EQ(allocator.reservedBytes(), (82 + 12 + 20 + 28 + 30) * kMiB) << "an oversized one goes, 12 stay";
}

TEST(CachingAllocator, StartsFromWhatExists) {
  CachingAllocator allocator({});
  // The first segment has 4.5 MiB free, a block of 3 MiB with 1 MiB that is too little for a block of its own, a block
  // of 2 MiB, and the rest free.
  const uint64_t at = 0x7f0000000000;
  allocator.adoptSegment(at, 20 * kMiB, 0, {{2, at + 17 * kMiB / 2, 2 * kMiB}, {1, at + 9 * kMiB / 2, 3 * kMiB}});
  allocator.adoptSegment(at + 64 * kMiB, 2 * kMiB, 0, {{3, at + 64 * kMiB + 512, 100}});
  EXPECT_THAT(blockBytes(allocator.segments()[0]), ElementsAre(9 * kMiB / 2, 4 * kMiB, 2 * kMiB, 19 * kMiB / 2));
  EXPECT_THAT(blockBytes(allocator.segments()[1]), ElementsAre(512, 512, 2 * kMiB - 1024));
  EXPECT_EQ(allocator.allocatedBytes(), 6 * kMiB + 512);
  EXPECT_EQ(allocator.requestedBytes(), 5 * kMiB + 100);
  EXPECT_EQ(allocator.reservedBytes(), 22 * kMiB);
  allocator.free(1);
  EXPECT_THAT(blockBytes(allocator.segments()[0]), ElementsAre(17 * kMiB / 2, 2 * kMiB, 19 * kMiB / 2));
  EXPECT_EQ(allocator.allocate(4, 17 * kMiB / 2, 0), at);
  EXPECT_EQ(allocator.allocate(5, 512, 0), at + 64 * kMiB);
  EXPECT_GE(allocator.allocate(6, 20 * kMiB, 0), at + 66 * kMiB);
}

TEST(CachingAllocator, RefusesContradictingOlderSegments) {
  const auto refused = [](std::vector<OlderBlock> blocks) {
    return inputError([&] { CachingAllocator({}).adoptSegment(0x1000000, 20 * kMiB, 0, blocks); });
  };
  EXPECT_THAT(refused({{0, 0x1000000, 2 * kMiB}, {1, 0x1100000, 2 * kMiB}}), HasSubstr("0x1100000"));
  EXPECT_THAT(refused({{0, 0x0f00000, 2 * kMiB}}), HasSubstr("overlaps another or leaves it"));
  EXPECT_THAT(refused({{0, 0x1000000, 21 * kMiB}}), HasSubstr("overlaps another or leaves it"));
  CachingAllocator allocator({});
  allocator.adoptSegment(0x1000000, 20 * kMiB, 0, {});
  EXPECT_THAT(inputError([&] { allocator.adoptSegment(0x0f00000, 2 * kMiB, 0, {}); }), HasSubstr("0xf00000"));
}

/// Checks what holds in every state: blocks cover segments without gaps, free neighbours are joined, and sums agree.
void expectSound(const CachingAllocator& allocator) {
  int64_t reserved = 0, allocated = 0;
  uint64_t end = 0;
  for (const AllocatorSegment& segment : allocator.segments()) {
    ASSERT_GE(segment.address, end);
    end = segment.address;
    reserved += segment.bytes;
    bool wasFree = false;
    for (const AllocatorBlock& block : segment.blocks) {
      ASSERT_EQ(block.address, end);
      ASSERT_EQ(block.bytes % 512, 0);
      ASSERT_FALSE(wasFree && block.state == BlockState::free);
      wasFree = block.state == BlockState::free;
      if (block.state == BlockState::used) allocated += block.bytes;
      end += static_cast<uint64_t>(block.bytes);
    }
    ASSERT_EQ(end, segment.address + static_cast<uint64_t>(segment.bytes));
  }
  ASSERT_EQ(reserved, allocator.reservedBytes());
  ASSERT_EQ(allocated, allocator.allocatedBytes());
}

TEST(CachingAllocator, StaysSoundUnderRandomUse) {
  for (const int64_t maxSplit : {kUnlimited, 24 * kMiB}) {
    std::mt19937_64 random(1);
    CachingAllocator allocator({.capacityBytes = 512 * kMiB, .maxSplitBytes = maxSplit});
    for (size_t i = 0; i < 4000; ++i) {
      allocator.allocate(i, static_cast<int64_t>(random() % (uint64_t{1} << (random() % 27))), random() % 2);
      const size_t other = random() % (i + 1);
      if (random() % 3 != 0) allocator.free(other);
      if (random() % 8 == 0) allocator.requestFree(random() % (i + 1));
      ASSERT_LE(allocator.reservedBytes(), 512 * kMiB);
      if (i % 16 == 0) expectSound(allocator);
    }
    for (size_t i = 0; i < 4000; ++i) allocator.free(i);
    EXPECT_EQ(allocator.allocatedBytes(), 0);
    EXPECT_EQ(allocator.requestedBytes(), 0);
    allocator.emptyCache();
    EXPECT_TRUE(allocator.segments().empty());
  }
}

}  // namespace
}  // namespace moeblaze
