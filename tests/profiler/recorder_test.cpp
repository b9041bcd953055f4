// Events as a profiler tells them, through the recorder, into a trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "profiler/recording/event_recorder.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kStart = 1'000'000;  ///< profiler's clock at the start

class RecorderTest : public ::testing::Test {
 protected:
  ~RecorderTest() override { std::filesystem::remove(file_); }

  EventRecorder& recorder() { return *recorder_; }
  void make(RecorderOptions options = {}, BoundedWriter::Limits limits = {}) {
    recorder_.emplace(*writer_, clock_, std::move(options), limits);
  }
  /// What another program reads while the recording goes on.
  Trace soFar() const { return readTrace(file_); }
  Trace finish(int64_t endNs = 1'000'000'000) {
    recorder_->finish(kStart + endNs);
    recorder_.reset();
    writer_->finish();
    writer_.reset();
    return readTrace(file_);
  }

  static MemoryEvent take(uint64_t address, int64_t bytes, int64_t timeNs, uint32_t correlation = 1) {
    return {.address = address,
            .bytes = bytes,
            .timeNs = kStart + timeNs,
            .context = 1,
            .stream = 7,
            .correlation = correlation};
  }
  static MemoryEvent giveBack(uint64_t address, int64_t bytes, int64_t timeNs, uint32_t correlation = 2) {
    MemoryEvent event = take(address, bytes, timeNs, correlation);
    event.isFree = true;
    return event;
  }
  static MemoryEvent inStreamOrder(MemoryEvent event) {
    event.isStreamOrdered = true;
    return event;
  }
  static WorkEvent kernel(int64_t startNs, int64_t endNs, uint32_t correlation, uint32_t stream = 7) {
    return {.startNs = kStart + startNs,
            .endNs = kStart + endNs,
            .context = 1,
            .stream = stream,
            .correlation = correlation,
            .name = "_Z4spinx"};
  }
  static std::vector<std::string> lossesOf(const Trace& trace) {
    std::vector<std::string> all;
    for (const Loss& loss : trace.losses) all.push_back(std::to_string(loss.count) + ' ' + loss.what);
    return all;
  }

 private:
  const std::string file_ =
      (std::filesystem::temp_directory_path() / ("recorder_test." + std::to_string(getpid()) + ".mbtrace")).string();
  std::optional<TraceWriter> writer_{std::in_place, file_};
  RecordingClock clock_{kStart, 5'000};
  std::optional<EventRecorder> recorder_;
};

TEST_F(RecorderTest, AFreeToldBeforeItsAllocationIsMatched) {
  make();
  recorder().add(giveBack(0x100, 64, 20));
  recorder().add(take(0x100, 64, 10));
  const Trace trace = finish();
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
  recorder().settle(kStart + 200);  // what happens from 200 on may not all be known
  recorder().add(take(0x100, 64, 250));
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_FALSE(trace.allocations[0].older);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, FreesOfUnknownMemoryAreOlderAllocationsAndCounted) {
  make();
  recorder().add(giveBack(0x900, 4096, 40));
  const Trace trace = finish();
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
  make();
  recorder().add(inStreamOrder(take(0x100, 64, 10, 1)));
  recorder().add(kernel(30, 500, 3));
  recorder().add(inStreamOrder(giveBack(0x100, 64, 40, 3)));  // CUPTI numbers a free as the call before it
  recorder().add(kernel(500, 900, 4));                        // later work of the stream does not count
  recorder().add(kernel(30, 700, 2, 8));                      // nor does another stream's
  const Trace trace = finish();
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
  recorder().add(kernel(20, 900, 8));  // after the free, told before it
  recorder().settle(kStart + 15);
  recorder().add(inStreamOrder(take(0x100, 64, 15, 2)));
  recorder().add(inStreamOrder(giveBack(0x100, 64, 18, 3)));
  EXPECT_EQ(finish().allocations.at(0).freeNs, 20);
}

TEST_F(RecorderTest, InTheStreamsPlaceMemoryBeginsThereToo) {
  make({.placement = StreamPlacement::stream, .labels = {}});
  recorder().add(kernel(0, 100, 1));
  recorder().add(inStreamOrder(take(0x100, 64, 10, 2)));
  recorder().add(kernel(100, 300, 3));
  recorder().add(inStreamOrder(giveBack(0x100, 64, 20, 4)));
  recorder().add(inStreamOrder(take(0x100, 32, 25, 5)));
  recorder().add(kernel(300, 400, 6));
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(2));
  EXPECT_EQ(trace.allocations[0].allocNs, 100);
  EXPECT_EQ(trace.allocations[0].freeNs, 300);
  EXPECT_EQ(trace.allocations[1].allocNs, 300);
  EXPECT_EQ(MemoryCurve(trace, trace.allocations[0].track).peak().bytes, 64);
}

TEST_F(RecorderTest, LabelsNameMemoryAndGiveWorkItsStep) {
  make({.labels = [](uint64_t id) -> std::optional<Label> {
    if (id == 5) return Label{.name = "A", .role = Role::saved, .step = StepId{3}};
    if (id == 6) return Label{.step = StepId{4}};
    return std::nullopt;
  }});
  recorder().add(take(0x100, 64, 10, 1));
  recorder().add(kernel(20, 30, 2));
  recorder().add(AttributionEvent{1, 5});  // told last, used all the same
  recorder().add(AttributionEvent{2, 6});
  const Trace trace = finish();
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
  make();
  recorder().add(mapping(MappingOp::create, 1, 0, 10));
  recorder().add(mapping(MappingOp::map, 1, 0x1000, 20));
  recorder().add(mapping(MappingOp::retain, 1, 0, 25));
  recorder().add(mapping(MappingOp::release, 1, 0, 30));
  recorder().add(mapping(MappingOp::unmap, 0, 0x1000, 40));
  recorder().add(mapping(MappingOp::release, 1, 0, 50));
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.allocations[0].address, 0x1000u);
  EXPECT_EQ(trace.allocations[0].allocNs, 10);
  EXPECT_EQ(trace.allocations[0].freeNs, 50);
}

TEST_F(RecorderTest, ARangeUnmappedAtOnceLetsGoOfEveryHandle) {
  make();
  for (uint64_t i = 0; i < 2; ++i) {
    recorder().add(mapping(MappingOp::create, 1 + i, 0, 10));
    recorder().add(mapping(MappingOp::map, 1 + i, 0x1000 + 4096 * i, 20));
    recorder().add(mapping(MappingOp::release, 1 + i, 0, 30));
  }
  MappingEvent range = mapping(MappingOp::unmap, 0, 0x1000, 40);
  range.bytes = 2 * 4096;
  recorder().add(range);
  recorder().add(take(0x2000, 512, 50));
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(3));
  EXPECT_EQ(trace.allocations[0].freeNs, 40);
  EXPECT_EQ(trace.allocations[1].freeNs, 40);
  EXPECT_EQ(trace.allocations[2].bytes, 512);
}

TEST_F(RecorderTest, MemoryIsFoundByItsAddressWhateverDeviceIsCurrent) {
  make();
  recorder().add(take(0x100, 64, 10));
  MemoryEvent elsewhere = giveBack(0x100, 64, 20);
  elsewhere.device = 1;
  recorder().add(elsewhere);
  const Trace trace = finish();
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
  make();
  recorder().add(mapping(MappingOp::create, 1, 0, 10));
  recorder().add(mapping(MappingOp::map, 1, 0x1000, 20));
  recorder().add(take(0x1000, 4096, 21));
  recorder().add(giveBack(0x1000, 4096, 39));
  recorder().add(mapping(MappingOp::unmap, 0, 0x1000, 40));
  recorder().add(mapping(MappingOp::release, 1, 0, 45));
  recorder().add(take(0x1000, 512, 60));  // the address is used again, by an allocation
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(2));
  EXPECT_EQ(MemoryCurve(trace, trace.allocations[0].track).peak().bytes, 4096);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, AFreeThatOnlyItsCallTellsOfIsDone) {
  make();
  recorder().add(take(0x100, 64, 10));
  recorder().add(FreeCallEvent{0x100, kStart + 18, kStart + 20});
  recorder().add(FreeCallEvent{0x100, kStart + 17, kStart + 21});  // the driver's call within the runtime's
  recorder().settle(kStart + 1'000'000'000);
  EXPECT_EQ(recorder().live().now, 0);
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(1));
  EXPECT_EQ(trace.allocations[0].freeNs, 20);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, AFreeToldOfTwiceIsDoneOnceAndTheAddressIsFreeAtOnce) {
  make();
  recorder().add(take(0x100, 64, 10));
  recorder().add(FreeCallEvent{0x100, kStart + 20, kStart + 35});  // returns when its memory is somebody else's
  recorder().add(giveBack(0x100, 64, 22));
  recorder().add(take(0x100, 32, 30));
  recorder().add(FreeCallEvent{0x100, kStart + 38, kStart + 40});
  recorder().add(take(0x100, 16, 50));                             // its free was told of by the call alone
  recorder().add(FreeCallEvent{0x777, kStart + 55, kStart + 60});  // of memory from before the recording
  const Trace trace = finish();
  ASSERT_THAT(trace.allocations, SizeIs(3));
  EXPECT_EQ(trace.allocations[0].freeNs, 22);
  EXPECT_EQ(trace.allocations[1].freeNs, 40);
  EXPECT_EQ(trace.allocations[2].freeNs, kNever);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST_F(RecorderTest, RangesAreJoinedByTheirIds) {
  make();
  recorder().add(RangeEvent{RangeEdge::end, kStart + 90, 1, 5, "", ""});  // told first
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
  make();
  MemoryEvent event = inStreamOrder(take(0x100, 64, 10, 1));
  event.pool = 0xabc;
  event.poolBytes = 32 << 20;
  recorder().add(event);
  recorder().add(PoolEvent{PoolEdge::destroyed, 0, 0xabc, 0, kStart + 50});
  const Trace trace = finish();
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
