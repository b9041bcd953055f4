// Events as a profiler reports them become a trace. Times in the tests are ns since the recording began.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/profiler/recorder_fixture.h"

namespace moeblaze::profiler {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST_F(RecorderTest, AFreeToldBeforeItsAllocationIsMatched) {
  const Trace trace = recorded({giveBack(0x100, 64, 20), take(0x100, 64, 10)});
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.allocations[0].allocNs, 10);
  EXPECT_EQ(trace.allocations[0].freeNs, 20);
  EXPECT_EQ(trace.allocations[0].bytes, 64);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, AnAddressIsUsedAgain) {
  make();
  for (int64_t i = 9; i >= 0; --i) {
    recorder().add(giveBack(0x100, 64 + i, 100 * i + 50));
    recorder().add(take(0x100, 64 + i, 100 * i));
  }
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(10));
  for (const Allocation& allocation : trace.allocations) EXPECT_EQ(allocation.freeNs - allocation.allocNs, 50);
  EXPECT_EQ(MemoryCurve(trace, trace.allocations[0].track).peak().bytes, 73);
}

TEST_F(RecorderTest, NothingCountsBeforeAllBeforeItWasTold) {
  make();
  recorder().add(giveBack(0x100, 64, 300));
  recorder().settle(kStart + 200);  // events from 200 on may still be missing
  recorder().add(take(0x100, 64, 250));
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_FALSE(trace.allocations[0].older);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, FreesOfUnknownMemoryAreOlderAllocationsAndCounted) {
  const Trace trace = recorded({giveBack(0x900, 4096, 40)});
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_TRUE(trace.allocations[0].older);
  EXPECT_EQ(trace.allocations[0].allocNs, 0);
  EXPECT_EQ(trace.allocations[0].freeNs, 40);
  EXPECT_THAT(lossesOf(trace), ::testing::ElementsAre("1 frees of memory from before the recording"));
}

TEST_F(RecorderTest, ALateCallIsCounted) {
  make();
  recorder().settle(kStart + 500);
  recorder().add(take(0x100, 64, 100));
  EXPECT_THAT(lossesOf(finish()), ::testing::ElementsAre("1 calls told late, after later ones had counted"));
}

TEST_F(RecorderTest, LossesAreInTheFileBeforeItIsFinished) {
  make();
  recorder().add(LostEvent{"records CUPTI dropped", 3});
  recorder().settle(kStart + 100);
  EXPECT_THAT(lossesOf(soFar()), ::testing::ElementsAre("3 records CUPTI dropped"));
  recorder().add(LostEvent{"records CUPTI dropped", 2});
  recorder().settle(kStart + 200);
  EXPECT_THAT(lossesOf(finish()), ::testing::ElementsAre("5 records CUPTI dropped"));
}

TEST_F(RecorderTest, AStreamOrderedFreeIsDoneWhenEarlierWorkEnds) {
  const Trace trace = recorded({
      inStreamOrder(take(0x100, 64, 10, 1)), kernel(30, 500, 3),
      inStreamOrder(giveBack(0x100, 64, 40, 3)),  // CUPTI gives a free the number of the call before it
      kernel(500, 900, 4),                        // later work of the stream does not delay the free
      kernel(30, 700, 2, 8)                       // nor does work of another stream
  });
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.allocations[0].allocNs, 10);
  EXPECT_EQ(trace.allocations[0].freeRequestedNs, 40);
  EXPECT_EQ(trace.allocations[0].freeNs, 500);
}

TEST_F(RecorderTest, AFreeWaitsForWorkThatIsToldLater) {
  make();
  recorder().add(inStreamOrder(take(0x100, 64, 10, 1)));
  recorder().add(inStreamOrder(giveBack(0x100, 64, 40, 3)));
  recorder().settle(kStart + 100);  // the kernel still runs
  recorder().add(kernel(30, 200'000'000, 2));
  recorder().add(kernel(200'000'000, 200'000'100, 5));
  recorder().settle(kStart + 300'000'000);
  EXPECT_EQ(finish().allocations.at(0).freeNs, 200'000'000);
}

TEST_F(RecorderTest, WorkToldLongBeforeTheCallDoesNotDelayIt) {
  make();
  recorder().add(kernel(10, 20, 1));
  recorder().add(kernel(20, 900, 8));  // enqueued after the free, but reported before it
  recorder().settle(kStart + 15);
  recorder().add(inStreamOrder(take(0x100, 64, 15, 2)));
  recorder().add(inStreamOrder(giveBack(0x100, 64, 18, 3)));
  EXPECT_EQ(finish().allocations.at(0).freeNs, 20);
}

TEST_F(RecorderTest, InTheStreamsPlaceMemoryBeginsThereToo) {
  const Trace trace =
      recorded({kernel(0, 100, 1), inStreamOrder(take(0x100, 64, 10, 2)), kernel(100, 300, 3),
                inStreamOrder(giveBack(0x100, 64, 20, 4)), inStreamOrder(take(0x100, 32, 25, 5)), kernel(300, 400, 6)},
               {.placement = StreamPlacement::stream, .labels = {}});
  ASSERT_THAT(trace.allocations, SizeIs(2));
  EXPECT_EQ(trace.allocations[0].allocNs, 100);
  EXPECT_EQ(trace.allocations[0].freeNs, 300);
  EXPECT_EQ(trace.allocations[1].allocNs, 300);
  EXPECT_EQ(MemoryCurve(trace, trace.allocations[0].track).peak().bytes, 64);
}

TEST_F(RecorderTest, LabelsNameMemoryAndGiveWorkItsStep) {
  const Labels labels = [](uint64_t id) -> std::optional<Label> {
    if (id == 5) return Label{.name = "A", .role = Role::saved, .step = StepId{3}};
    if (id == 6) return Label{.step = StepId{4}};
    return std::nullopt;
  };
  // The attributions are used although they are reported last.
  const Trace trace = recorded(
      {take(0x100, 64, 10, 1), kernel(20, 30, 2), AttributionEvent{1, 5}, AttributionEvent{2, 6}}, {.labels = labels});
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.strings[trace.allocations[0].name], "A");
  EXPECT_EQ(trace.allocations[0].role, Role::saved);
  EXPECT_EQ(trace.allocations[0].step, StepId{3});
  ASSERT_THAT(trace.spans, SizeIs(1));
  EXPECT_EQ(trace.spans[0].step, StepId{4});
  EXPECT_EQ(trace.strings[trace.spans[0].name], "spin(long long)");
}

MappingEvent mapping(MappingOp op, uint64_t handle, uint64_t address, int64_t timeNs) {
  return {op, handle, address, op == MappingOp::release || op == MappingOp::retain ? 0 : 4096, 0, kStart + timeNs};
}

TEST_F(RecorderTest, MappedMemoryGoesWithItsLastMappingOrHandle) {
  const Trace trace = recorded({mapping(MappingOp::create, 1, 0, 10), mapping(MappingOp::map, 1, 0x1000, 20),
                                mapping(MappingOp::retain, 1, 0, 25), mapping(MappingOp::release, 1, 0, 30),
                                mapping(MappingOp::unmap, 0, 0x1000, 40), mapping(MappingOp::release, 1, 0, 50)});
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.allocations[0].address, 0x1000u);
  EXPECT_EQ(trace.allocations[0].allocNs, 10);
  EXPECT_EQ(trace.allocations[0].freeNs, 50);
}

TEST_F(RecorderTest, ARangeUnmappedAtOnceLetsGoOfEveryHandle) {
  std::vector<Event> events;
  for (uint64_t i = 0; i < 2; ++i)
    for (const MappingEvent& event :
         {mapping(MappingOp::create, 1 + i, 0, 10), mapping(MappingOp::map, 1 + i, 0x1000 + 4096 * i, 20),
          mapping(MappingOp::release, 1 + i, 0, 30)})
      events.emplace_back(event);
  MappingEvent range = mapping(MappingOp::unmap, 0, 0x1000, 40);
  range.bytes = 2 * 4096;
  events.emplace_back(range);
  events.emplace_back(take(0x2000, 512, 50));
  const Trace trace = recorded(events);
  ASSERT_THAT(trace.allocations, SizeIs(3));
  EXPECT_EQ(trace.allocations[0].freeNs, 40);
  EXPECT_EQ(trace.allocations[1].freeNs, 40);
  EXPECT_EQ(trace.allocations[2].bytes, 512);
}

TEST_F(RecorderTest, MemoryIsFoundByItsAddressWhateverDeviceIsCurrent) {
  MemoryEvent elsewhere = giveBack(0x100, 64, 20);
  elsewhere.device = 1;
  const Trace trace = recorded({take(0x100, 64, 10), elsewhere});
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.allocations[0].freeNs, 20);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, WhatAFileDoesNotHoldIsCountedAndTheRestGoesOn) {
  make({}, {.allocations = 2, .spans = 1, .tracks = 1, .textBytes = 8});
  for (int64_t i = 0; i < 3; ++i) {
    recorder().add(take(0x100 + 0x100 * i, 64, 10 + i));
    recorder().add(kernel(20 + i, 30 + i, 5, 7 + static_cast<uint32_t>(i)));
  }
  for (int64_t i = 2; i >= 0; --i) recorder().add(giveBack(0x100 + 0x100 * i, 64, 50));
  recorder().add(RangeEvent{RangeEdge::instant, kStart + 30, 3, 6, "a name beyond eight bytes", ""});
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(2));
  for (const Allocation& allocation : trace.allocations) EXPECT_EQ(allocation.freeNs, 50);
  EXPECT_THAT(trace.spans, SizeIs(1));
  EXPECT_THAT(lossesOf(trace), ::testing::ElementsAre("1 allocations beyond what a file holds",
                                                      "3 kernels, copies and ranges beyond what a file holds"));
}

TEST_F(RecorderTest, WhenTracksRunOutStreamsShareOne) {
  make({}, {.tracks = 2});
  for (uint32_t stream = 1; stream <= 4; ++stream) recorder().add(kernel(20, 30, stream, stream));
  const Trace trace = finish();
  EXPECT_THAT(trace.spans, SizeIs(4));
  std::vector<std::string> names;
  for (const Track& track : trace.tracks) names.push_back(track.name);
  EXPECT_THAT(
      names, ::testing::ElementsAre("GPU 0 stream 1 kernels", "GPU 0 stream 2 kernels", "GPU 0 other streams kernels"));
}

TEST_F(RecorderTest, MappedMemoryIsCountedOnce) {
  const Trace trace = recorded({
      mapping(MappingOp::create, 1, 0, 10), mapping(MappingOp::map, 1, 0x1000, 20), take(0x1000, 4096, 21),
      giveBack(0x1000, 4096, 39), mapping(MappingOp::unmap, 0, 0x1000, 40), mapping(MappingOp::release, 1, 0, 45),
      take(0x1000, 512, 60)  // an allocation gets the address later
  });
  ASSERT_THAT(trace.allocations, SizeIs(2));
  EXPECT_EQ(MemoryCurve(trace, trace.allocations[0].track).peak().bytes, 4096);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, AFreeThatOnlyItsCallTellsOfIsDone) {
  make();
  recorder().add(take(0x100, 64, 10));
  recorder().add(FreeCallEvent{0x100, kStart + 18, kStart + 20});
  recorder().add(
      FreeCallEvent{0x100, kStart + 17, kStart + 21});  // the driver's call, which the runtime's call contains
  recorder().settle(kStart + 1'000'000'000);
  EXPECT_EQ(recorder().live().now, 0);
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.allocations[0].freeNs, 20);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, AFreeToldOfTwiceIsDoneOnceAndTheAddressIsFreeAtOnce) {
  const Trace trace = recorded({
      take(0x100, 64, 10),
      FreeCallEvent{0x100, kStart + 20, kStart + 35},  // returns after the address was allocated again
      giveBack(0x100, 64, 22), take(0x100, 32, 30),
      FreeCallEvent{0x100, kStart + 38, kStart + 40},                      // the only report of this free
      take(0x100, 16, 50), FreeCallEvent{0x777, kStart + 55, kStart + 60}  // memory from before the recording
  });
  ASSERT_THAT(trace.allocations, SizeIs(3));
  EXPECT_EQ(trace.allocations[0].freeNs, 22);
  EXPECT_EQ(trace.allocations[1].freeNs, 40);
  EXPECT_EQ(trace.allocations[2].freeNs, kNever);
  EXPECT_THAT(trace.losses, IsEmpty());
}

/// Everything in a trace, a line each.
std::vector<std::string> linesOf(const Trace& trace) {
  std::vector<std::string> lines;
  const auto text = [&](StringId id) { return quote(trace.strings[id]); };
  for (const auto& [key, value] : trace.meta) lines.push_back(fmt::format("meta {} {}", key, value));
  for (const Device& it : trace.devices)
    lines.push_back(fmt::format("device {} {} {}", it.id, it.name, it.memoryBytes));
  for (const Track& it : trace.tracks)
    lines.push_back(fmt::format("track {} {} {}", quote(it.name), name(it.kind), it.device));
  for (const Span& it : trace.spans)
    lines.push_back(fmt::format("span {} {} {}+{} step {}", index(it.track), text(it.name), it.startNs, it.durationNs,
                                static_cast<int32_t>(it.step)));
  for (const Allocation& it : trace.allocations)
    lines.push_back(fmt::format("allocation {} {} {} {} bytes {} to {}, requested {}, step {}, address {}, stream {}",
                                index(it.track), text(it.name), name(it.role), it.bytes, it.allocNs, it.freeNs,
                                it.freeRequestedNs, static_cast<int32_t>(it.step), it.address, it.stream));
  for (const Counter& it : trace.counters)
    for (const auto& [timeNs, value] : it.points)
      lines.push_back(fmt::format("{} {} {} {} at {}", index(it.track), text(it.name), value, text(it.unit), timeNs));
  for (const Loss& it : trace.losses) lines.push_back(fmt::format("lost {} {}", it.count, it.what));
  return lines;
}

TEST_F(RecorderTest, InMemoryTheTraceIsTheOneOfAFileAndKnowsItsBuffers) {
  const RecorderOptions options{.labels = [](uint64_t id) -> std::optional<Label> {
    return Label{.name = "A", .role = Role::saved, .buffer = static_cast<BufferId>(id), .step = StepId{3}};
  }};
  MemoryEvent pooled = inStreamOrder(take(0x100, 64, 10, 1));
  pooled.pool = 0xabc, pooled.poolBytes = 32 << 20;
  const std::vector<Event> events{DeviceEvent{0, "GPU", 1 << 30, "GPU-0"},
                                  pooled,
                                  AttributionEvent{1, 7},
                                  kernel(20, 300, 2),
                                  AttributionEvent{2, 8},
                                  inStreamOrder(giveBack(0x100, 64, 40, 2)),
                                  take(0x200, 32, 50, 3),
                                  RangeEvent{RangeEdge::instant, kStart + 30, 3, 6, "now", ""},
                                  LostEvent{"records CUPTI dropped", 3},
                                  giveBack(0x900, 4096, 60, 4)};
  Trace inMemory;
  MemorySink sink(inMemory);
  const RecordingClock clock(kStart, 5'000);
  EventRecorder recorder(sink, clock, options);
  for (const Event& event : events) recorder.add(event);
  recorder.settle(kStart + 100);
  recorder.add(LostEvent{"records CUPTI dropped", 2});  // one loss, told twice
  recorder.finish(kStart + 1'000'000'000);
  std::vector<Event> all = events;
  all.push_back(LostEvent{"records CUPTI dropped", 2});
  EXPECT_EQ(linesOf(inMemory), linesOf(recorded(all, options)));
  ASSERT_THAT(inMemory.allocations, SizeIs(3));
  EXPECT_EQ(inMemory.allocations[0].buffer, BufferId{7});
  EXPECT_EQ(inMemory.allocations[1].buffer, BufferId::none);
}

TEST_F(RecorderTest, RangesAreJoinedByTheirIds) {
  make();
  recorder().add(RangeEvent{RangeEdge::end, kStart + 90, 1, 5, "", ""});  // reported first
  recorder().add(RangeEvent{RangeEdge::start, kStart + 10, 1, 5, "step", ""});
  recorder().add(RangeEvent{RangeEdge::start, kStart + 20, 2, 5, "open", "torch"});
  recorder().add(RangeEvent{RangeEdge::instant, kStart + 30, 3, 6, "now", ""});
  const Trace trace = finish(200);
  ASSERT_THAT(trace.spans, SizeIs(3));
  std::map<std::string, int64_t> durations;
  for (const Span& span : trace.spans) durations[trace.strings[span.name]] = span.durationNs;
  EXPECT_EQ(durations["step"], 80);
  EXPECT_EQ(durations["torch: open"], 180);
  EXPECT_EQ(durations["now"], 0);
  EXPECT_EQ(trace.tracks[index(trace.spans[0].track)].name, "NVTX thread 5");
}

TEST_F(RecorderTest, PoolsAreCounters) {
  MemoryEvent event = inStreamOrder(take(0x100, 64, 10, 1));
  event.pool = 0xabc;
  event.poolBytes = 32 << 20;
  const Trace trace = recorded({event, PoolEvent{PoolEdge::destroyed, 0, 0xabc, 0, kStart + 50}});
  ASSERT_THAT(trace.counters, SizeIs(1));
  EXPECT_THAT(trace.counters[0].points,
              ::testing::ElementsAre(std::pair(int64_t{10}, 33554432.0), std::pair(int64_t{50}, 0.0)));
}

TEST_F(RecorderTest, LiveBytesAreTheDevicesAlone) {
  make();
  recorder().add(take(0x100, 1000, 10));
  MemoryEvent pinned = take(0x900, 500, 11);
  pinned.kind = MemoryKind::pinned;
  recorder().add(pinned);
  recorder().add(take(0x200, 300, 12));
  recorder().add(giveBack(0x100, 1000, 13));
  recorder().settle(kStart + 100);
  EXPECT_EQ(recorder().live().now, 300);
  EXPECT_EQ(recorder().live().peak, 1300);
  finish();
}

}  // namespace
}  // namespace moeblaze::profiler
