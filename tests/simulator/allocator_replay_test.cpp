#include "simulator/allocator/allocator_replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <sstream>
#include <unordered_map>

#include "tests/support/input_error.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr TrackId kRequests{0}, kSegments{1};

Trace traceOf(std::vector<Allocation> allocations) {
  Trace trace;
  trace.tracks = {{"requests", TrackKind::observed}, {"segments", TrackKind::segments}};
  trace.allocations = std::move(allocations);
  for (Allocation& a : trace.allocations)
    if (a.track == TrackId::none) a.track = kRequests;
  return trace;
}

TEST(AllocatorModel, NamesRoundTrip) {
  for (AllocatorModel model : {AllocatorModel::exact, AllocatorModel::pytorch, AllocatorModel::pool})
    EXPECT_EQ(parseAllocatorModel(name(model), "--allocator"), model);
  EXPECT_EQ(inputError([] { parseAllocatorModel("pytroch", "--allocator"); }),
            "--allocator 'pytroch' is unknown; did you mean 'pytorch'? (allowed: exact, pytorch, pool)");
}

TEST(AllocatorReplay, ExactIsTheMemoryCurve) {
  const Trace trace = traceOf({{.bytes = 100, .allocNs = 0, .freeNs = 5},
                               {.bytes = 900, .allocNs = 2, .freeNs = 2},
                               {.bytes = 70, .allocNs = 5, .freeNs = 9},
                               {.bytes = 60, .allocNs = 6}});
  const AllocatorReplay replay = replayAllocator(trace, kRequests, {.model = AllocatorModel::exact});
  const MemoryCurve curve(trace, kRequests);
  for (const AllocatorPoint& point : replay.points) {
    EXPECT_EQ(point.allocated, curve.bytesAt(point.timeNs)) << point.timeNs;
    EXPECT_EQ(point.fragmentation(), 0);
  }
  EXPECT_EQ(replay.allocatedPeak.allocated, 130);
  EXPECT_EQ(replay.allocatedPeak.timeNs, 6);
  EXPECT_EQ(replay.points.size(), 4u);
  const auto less = replayAllocator(trace, kRequests, {.model = AllocatorModel::exact, .capacityBytes = 129});
  ASSERT_TRUE(less.outOfMemory);
  EXPECT_EQ(less.outOfMemory->allocation, 3u);
  EXPECT_EQ(less.outOfMemory->allocatedBytes, 70);
}

TEST(AllocatorReplay, PoolGrowsInStepsAndKeepsThem) {
  const Trace trace = traceOf({{.bytes = 1, .allocNs = 0, .freeNs = 3},
                               {.bytes = 32 * kMiB, .allocNs = 1, .freeNs = 2},
                               {.bytes = 60 * kMiB, .allocNs = 4, .freeNs = 5},
                               {.bytes = 65 * kMiB, .allocNs = 6}});
  const AllocatorReplay replay = replayAllocator(trace, kRequests, {.model = AllocatorModel::pool});
  ASSERT_EQ(replay.points.size(), 7u);
  const std::array<std::pair<int64_t, int64_t>, 7> expected{{{512, 32 * kMiB},
                                                             {32 * kMiB + 512, 64 * kMiB},
                                                             {512, 64 * kMiB},
                                                             {0, 64 * kMiB},
                                                             {60 * kMiB, 64 * kMiB},
                                                             {0, 64 * kMiB},
                                                             {65 * kMiB, 96 * kMiB}}};
  for (size_t i = 0; i < 7; ++i)
    EXPECT_EQ(std::pair(replay.points[i].allocated, replay.points[i].reserved), expected[i]) << i;
  EXPECT_EQ(replay.segments.size(), 3u);
  EXPECT_TRUE(
      replayAllocator(trace, kRequests, {.model = AllocatorModel::pool, .capacityBytes = 95 * kMiB}).outOfMemory);
}

TEST(AllocatorReplay, WithinAnInstantEarlierFreesComeFirst) {
  const Trace trace = traceOf({{.bytes = 30 * kMiB, .allocNs = 0, .freeNs = 1},
                               {.bytes = 30 * kMiB, .allocNs = 1, .freeNs = 1},
                               {.bytes = 30 * kMiB, .allocNs = 1}});
  const AllocatorReplay replay = replayAllocator(trace, kRequests, {});
  EXPECT_EQ(replay.segments.size(), 2u) << "the second and third are alive together";
  EXPECT_EQ(replay.reservedPeak.timeNs, 1);
  EXPECT_EQ(replay.reservedPeak.fragmentation(), 0);
  EXPECT_EQ(replay.points.back().fragmentation(), 30 * kMiB);
}

TEST(AllocatorReplay, LettingGoIsNotYetReuse) {
  const Trace trace = traceOf(
      {{.bytes = 30 * kMiB, .allocNs = 0, .freeNs = 5, .freeRequestedNs = 1}, {.bytes = 30 * kMiB, .allocNs = 2}});
  const AllocatorReplay replay = replayAllocator(trace, kRequests, {});
  EXPECT_EQ(replay.allocatedPeak.allocated, 30 * kMiB);
  EXPECT_EQ(replay.reservedPeak.reserved, 60 * kMiB);
}

TEST(AllocatorReplay, StartsFromOlderSegmentsAndFollowsEmptiedCaches) {
  const uint64_t at = 0x7f0000000000;
  const Trace trace = traceOf(
      {{.track = kSegments, .older = true, .bytes = 20 * kMiB, .allocNs = 0, .address = at},
       {.track = kSegments, .older = true, .bytes = 30 * kMiB, .allocNs = 0, .freeNs = 3, .address = at + 64 * kMiB},
       {.track = kSegments, .bytes = 30 * kMiB, .allocNs = 4, .address = at - 64 * kMiB},
       {.older = true, .bytes = 4 * kMiB, .allocNs = 0, .freeNs = 2, .address = at + 4 * kMiB},
       {.older = true, .bytes = 2 * kMiB, .allocNs = 0, .address = 0},
       {.bytes = 30 * kMiB, .allocNs = 4}});
  const AllocatorReplay replay = replayAllocator(trace, kRequests, {});
  EXPECT_EQ(replay.points[0].allocated, 6 * kMiB);
  EXPECT_EQ(replay.points[0].reserved, 50 * kMiB) << "what has no address is a request like any other";
  EXPECT_EQ(replay.points[2].reserved, 20 * kMiB);
  ASSERT_EQ(replay.segments.size(), 1u);
  EXPECT_EQ(replay.segments[0].address, at - 64 * kMiB);
  EXPECT_EQ(replay.points.back().allocated, 32 * kMiB);
}

TEST(AllocatorReplay, SegmentsGivenBackSaySo) {
  const Trace trace = traceOf({{.bytes = 30 * kMiB, .allocNs = 0, .freeNs = 1}, {.bytes = 40 * kMiB, .allocNs = 2}});
  const AllocatorReplay replay = replayAllocator(trace, kRequests, {.capacityBytes = 48 * kMiB});
  ASSERT_EQ(replay.segments.size(), 2u);
  EXPECT_EQ(replay.segments[0].freeNs, 2);
  EXPECT_EQ(replay.segments[1].freeNs, kNever);
  EXPECT_FALSE(replay.outOfMemory);
}

/// A recorded line of tests/data/torch_requests_qwen3moe.csv.
struct Line {
  std::string action;
  uint64_t address = 0;
  int64_t bytes = 0, stream = 0;
};

/// Two training steps of a 2-layer Qwen3-MoE under PyTorch (simulator/tools/torch_requests.py).
std::vector<Line> recorded() {
  std::ifstream file(MOEBLAZE_TEST_DATA "/torch_requests_qwen3moe.csv");
  std::vector<Line> lines;
  std::string text;
  for (std::getline(file, text); std::getline(file, text);) {
    std::istringstream fields(text);
    std::array<std::string, 4> field;
    for (std::string& value : field) std::getline(fields, value, ',');
    lines.push_back({field[0], std::stoull(field[1], nullptr, 16), std::stoll(field[2]), std::stoll(field[3])});
  }
  return lines;
}

/// The recording as an import would give it. The time of an event is the number of its line.
Trace recordedTrace() {
  Trace trace;
  trace.tracks = {{"GPU 0", TrackKind::observed}, {"GPU 0 segments", TrackKind::segments}};
  std::unordered_map<uint64_t, size_t> alive;
  int64_t now = 0;
  for (const Line& line : recorded()) {
    ++now;
    if (line.action == "free") {
      trace.allocations[alive.at(line.address)].freeNs = now;
      trace.allocations[alive.at(line.address)].freeRequestedNs = now;
      continue;
    }
    const bool isSegment = line.action == "segment" || line.action == "segment_alloc";
    if (!isSegment) alive[line.address] = trace.allocations.size();
    trace.allocations.push_back({.track = isSegment ? kSegments : kRequests,
                                 .older = line.action == "segment" || line.action == "block",
                                 .bytes = isSegment ? line.bytes : roundedBytes(line.bytes),
                                 .requestedBytes = line.bytes,
                                 .allocNs = now,
                                 .address = line.address,
                                 .stream = line.stream});
  }
  for (Allocation& allocation : trace.allocations)
    if (allocation.older) allocation.allocNs = 0;
  return trace;
}

TEST(Recorded, EverySegmentOfPyTorchIsReproduced) {
  const Trace trace = recordedTrace();
  const AllocatorReplay replay = replayAllocator(trace, kRequests, {});
  std::vector<const Allocation*> taken;
  for (const Allocation& a : trace.allocations)
    if (a.track == kSegments && !a.older) taken.push_back(&a);
  ASSERT_EQ(replay.segments.size(), taken.size());
  EXPECT_EQ(taken.size(), 13u);
  for (size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(replay.segments[i].bytes, taken[i]->bytes) << i;
    EXPECT_EQ(replay.segments[i].address, taken[i]->address) << i;
    EXPECT_EQ(replay.segments[i].timeNs, taken[i]->allocNs + 1) << i << ": the request follows its segment";
  }
  EXPECT_FALSE(replay.outOfMemory);
  EXPECT_EQ(replay.allocatedPeak.allocated, 1'282'181'120) << "PyTorch's max_memory_allocated";
  EXPECT_EQ(replay.reservedPeak.reserved, 1'537'212'416) << "PyTorch's max_memory_reserved";
  EXPECT_EQ(replay.points.back().allocated, 353'114'624) << "PyTorch's memory_allocated at the end";
}

TEST(Recorded, EveryBlockLiesWherePyTorchPutIt) {
  const std::vector<Line> lines = recorded();
  size_t nextSegment = 0;
  std::vector<const Line*> segments;
  std::unordered_map<uint64_t, std::vector<OlderBlock>> blocks;  // by the address of their segment
  for (const Line& line : lines)
    if (line.action == "segment_alloc") segments.push_back(&line);
  CachingAllocator allocator({.segmentAddress = [&](int64_t, int64_t) { return segments[nextSegment++]->address; }});
  for (const Line& segment : lines) {
    if (segment.action != "segment") continue;
    std::vector<OlderBlock> inside;
    for (const Line& block : lines)
      if (block.action == "block" && block.address - segment.address < static_cast<uint64_t>(segment.bytes))
        inside.push_back({block.address, block.address, block.bytes});
    allocator.adoptSegment(segment.address, segment.bytes, segment.stream, inside);
  }
  size_t allocations = 0;
  for (const Line& line : lines) {  // the id of a block is its recorded address
    if (line.action == "free") allocator.free(line.address);
    if (line.action == "alloc") {
      ASSERT_EQ(allocator.allocate(line.address, line.bytes, line.stream), line.address) << allocations;
      ++allocations;
    }
  }
  EXPECT_EQ(allocations, 1138u);
  EXPECT_EQ(nextSegment, segments.size());
}

TEST(Recorded, RunsOutWhereTheDeviceIsTooSmall) {
  const Trace trace = recordedTrace();
  const AllocatorReplay enough = replayAllocator(trace, kRequests, {.capacityBytes = 1'537'212'416});
  EXPECT_FALSE(enough.outOfMemory);
  EXPECT_EQ(enough.segments.size(), 13u);
  const AllocatorReplay less = replayAllocator(trace, kRequests, {.capacityBytes = 1'537'212'415});
  EXPECT_FALSE(less.outOfMemory);
  EXPECT_EQ(less.allocatedPeak.allocated, enough.allocatedPeak.allocated);
  EXPECT_EQ(less.reservedPeak.reserved, 1'537'212'416 - 2 * kMiB) << "an older cached segment goes";
  const AllocatorReplay little = replayAllocator(trace, kRequests, {.capacityBytes = 1'500'000'000});
  ASSERT_TRUE(little.outOfMemory);
  EXPECT_EQ(little.outOfMemory->requestedBytes, 262'144'000);
  EXPECT_EQ(little.outOfMemory->timeNs, enough.reservedPeak.timeNs);
  EXPECT_EQ(little.outOfMemory->reservedBytes, 1'537'212'416 - 2 * kMiB - 262'144'000);
  EXPECT_EQ(little.outOfMemory->allocatedBytes, 1'282'181'120 - 262'144'000);
  EXPECT_EQ(little.points.back().timeNs, little.outOfMemory->timeNs) << "the replay ends there";
}

}  // namespace
}  // namespace moeblaze
