#include "traces/import/torch/torch_snapshot.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/input_error.h"
#include "traces/export/memory_viz.h"

namespace moeblaze {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kMiB = int64_t{1} << 20;

std::string bytesOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string sample() { return bytesOf(MOEBLAZE_SAMPLES "/torch_snapshot_qwen3moe_2layer.pickle"); }

std::vector<Allocation> on(const Trace& trace, size_t track) {
  std::vector<Allocation> result;
  for (const Allocation& allocation : trace.allocations)
    if (index(allocation.track) == track) result.push_back(allocation);
  return result;
}

int64_t lost(const Trace& trace, std::string_view what) {
  for (const Loss& loss : trace.losses)
    if (loss.what.starts_with(what)) return loss.count;
  return 0;
}

int64_t atEnd(const Trace& trace, size_t track) {
  return MemoryCurve(trace, static_cast<TrackId>(track)).bytesAt(kNever - 1);
}

/// A snapshot of one device as JSON.
std::string snapshot(std::string_view events, std::string_view segments, std::string_view settings = "{}") {
  return fmt::format(R"({{"device_traces": [[{}]], "segments": [{}], "allocator_settings": {}}})", events, segments,
                     settings);
}

std::string event(std::string_view action, int64_t addr, int64_t size, int64_t us = 0) {
  return fmt::format(R"({{"action": "{}", "addr": {}, "size": {}, "stream": 0, "time_us": {}}})", action, addr, size,
                     us);
}

std::string segment(int64_t address, int64_t size, std::string_view blocks, std::string_view more = "") {
  return fmt::format(R"({{"device": 0, "address": {}, "total_size": {}, "stream": 0, "blocks": [{}]{}}})", address,
                     size, blocks, more);
}

std::string block(int64_t address, int64_t size, std::string_view state = "active_allocated", int64_t asked = 0) {
  return fmt::format(R"({{"address": {}, "size": {}, "requested_size": {}, "state": "{}"}})", address, size,
                     asked ? asked : size, state);
}

/// Every field of the allocations that the snapshot format can hold, with texts and stacks written out.
std::string spelledOut(const Trace& trace) {
  std::string text;
  for (const Allocation& a : trace.allocations) {
    const Track& track = trace.tracks[index(a.track)];
    text +=
        fmt::format("{}/{} {} {} {} {} {} {} {} {:x} {}", name(track.kind), track.device, trace.strings[a.name],
                    a.older, a.bytes, a.requestedBytes, a.allocNs, a.freeNs, a.freeRequestedNs, a.address, a.stream);
    for (const Frame& frame : trace.stacks[a.stack])
      text += fmt::format(" {}:{}:{}", trace.strings[frame.file], trace.strings[frame.function], frame.line);
    text += '\n';
  }
  return text;
}

std::vector<std::string> sortedLines(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  std::ranges::sort(lines);
  return lines;
}

TEST(TorchSnapshot, SampleAgreesWithPyTorchsOwnCounters) {
  const Trace trace = importTorchSnapshot(sample(), "sample.pickle");
  ASSERT_EQ(trace.tracks.size(), 2u);
  EXPECT_EQ(trace.tracks[0].name, "PyTorch allocator, device 0");
  EXPECT_EQ(trace.tracks[0].kind, TrackKind::observed);
  EXPECT_EQ(trace.tracks[1].kind, TrackKind::segments);
  EXPECT_EQ(MemoryCurve(trace, TrackId{0}).peak().bytes, 1'282'181'120) << "max_memory_allocated";
  EXPECT_EQ(MemoryCurve(trace, TrackId{1}).peak().bytes, 1'537'212'416) << "max_memory_reserved";
  EXPECT_EQ(atEnd(trace, 0), 353'114'624) << "memory_allocated";
  EXPECT_EQ(on(trace, 0).size(), 1138u + 42u) << "allocations and blocks older than the recording";
  EXPECT_EQ(on(trace, 1).size(), 27u);
  ASSERT_EQ(trace.losses.size(), 1u);
  EXPECT_EQ(lost(trace, "annotations not imported"), 8);
  EXPECT_EQ(trace.stacks.size(), 76u) << "each once, the empty one included";
  EXPECT_THAT(trace.meta, testing::Contains(std::pair<std::string, std::string>("start_unix_us", "1795956921639541")));
}

TEST(TorchSnapshot, SampleInDetail) {
  const Trace trace = importTorchSnapshot(sample(), "sample.pickle");
  const Allocation* first = nullptr;
  int64_t last = -1;
  for (const Allocation& allocation : trace.allocations) {
    if (allocation.older) {
      EXPECT_EQ(allocation.allocNs, 0);
      continue;
    }
    if (index(allocation.track) != 0) continue;
    if (!first) first = &allocation;
    EXPECT_GT(allocation.allocNs, last) << "strictly in order";
    last = allocation.allocNs;
    if (allocation.freeNs == kNever) continue;
    EXPECT_LT(allocation.allocNs, allocation.freeRequestedNs);
    EXPECT_LT(allocation.freeRequestedNs, allocation.freeNs);
  }
  ASSERT_TRUE(first);
  EXPECT_EQ(first->allocNs, 0);
  EXPECT_EQ(first->bytes, 16384);
  EXPECT_EQ(first->requestedBytes, 0) << "given exactly";
  EXPECT_EQ(first->address, 140304659183616u);
  EXPECT_EQ(trace.strings[first->name], "train.py:snap:39");
  EXPECT_EQ(trace.stacks[first->stack].size(), 2u);
}

TEST(TorchSnapshot, PeersEndWithWhatTheirSegmentsSay) {
  const std::pair<const char*, int64_t> kAtEnd[] = {{"megablocks-grouped", 371212288}, {"megablocks-memopt", 572538880},
                                                    {"momoe-save0", 375390208},        {"momoe-save100", 375390208},
                                                    {"scattermoe", 371195904},         {"torch-grouped_mm", 337641472}};
  for (const auto& [system, bytes] : kAtEnd) {
    const Trace trace =
        importTorchSnapshot(bytesOf(fmt::format(MOEBLAZE_TEST_DATA "/peer_snapshots/conf5_{}.pickle", system)), system);
    EXPECT_EQ(atEnd(trace, 0), bytes) << system;
    EXPECT_GE(MemoryCurve(trace, TrackId{1}).peak().bytes, MemoryCurve(trace, TrackId{0}).peak().bytes) << system;
    for (const Loss& loss : trace.losses) EXPECT_THAT(loss.what, HasSubstr("recorded before the first event"));
  }
}

TEST(TorchSnapshot, ExportAndImportAreInverse) {
  std::vector<std::string> files{sample()};
  for (const auto& file : std::filesystem::directory_iterator(MOEBLAZE_TEST_DATA "/peer_snapshots"))
    files.push_back(bytesOf(file.path()));
  ASSERT_EQ(files.size(), 7u);
  for (const std::string& file : files) {
    const Trace trace = importTorchSnapshot(file, "first");
    const std::string written = exportMemoryViz(trace);
    const Trace again = importTorchSnapshot(written, "again");
    EXPECT_EQ(sortedLines(spelledOut(again)), sortedLines(spelledOut(trace)));
    EXPECT_EQ(again.meta.back(), trace.meta.back()) << "settings";
    EXPECT_LT(written.size(), 2 * file.size()) << "stacks are shared";
    EXPECT_EQ(exportMemoryViz(again), exportMemoryViz(importTorchSnapshot(exportMemoryViz(again), "thrice")));
  }
}

TEST(TorchSnapshot, SizesAreWhatTheAllocatorGives) {
  const int64_t m = kMiB;
  const Trace trace = importTorchSnapshot(
      snapshot(event("alloc", 100 * m, 1000) + "," + event("free_completed", 100 * m, 1000) + "," +
                   event("alloc", 200 * m, 10 * m + 1) + "," + event("free_completed", 200 * m, 10 * m + 1) + "," +
                   event("alloc", 200 * m, 3 * m) + "," + event("free_completed", 200 * m, 3 * m) + "," +
                   event("alloc", 100 * m, 2 * m - 512 - 512 * 1024) + "," + event("free_completed", 100 * m, 2 * m),
               segment(100 * m, 2 * m, block(100 * m, 2 * m, "inactive")) + "," +
                   segment(200 * m, 11 * m, block(200 * m, 11 * m, "inactive"))),
      "s");
  std::vector<int64_t> bytes, requested;
  for (const Allocation& allocation : on(trace, 0)) {
    bytes.push_back(allocation.bytes);
    requested.push_back(allocation.requestedBytes);
  }
  EXPECT_THAT(bytes, ElementsAre(1024, 11 * m /* a rest of under 1 MiB stays */, 3 * m, 2 * m))
      << "rounded up to 512; large blocks keep a rest of up to 1 MiB";
  EXPECT_THAT(requested, ElementsAre(1000, 10 * m + 1, 0, 2 * m - 512 - 512 * 1024));
}

TEST(TorchSnapshot, RoundingToPartsOfPowersOfTwo) {
  const Trace trace =
      importTorchSnapshot(snapshot(event("alloc", 4096 * 1024, 1200 * 1024) + "," + event("alloc", 8192 * 1024, 1200),
                                   "", R"({"roundup_power2_divisions": {"1": 4, "2": 8}})"),
                          "s");
  EXPECT_EQ(on(trace, 0)[0].bytes, 1280 * 1024) << "1 MiB and a quarter";
  EXPECT_EQ(on(trace, 0)[1].bytes, 1536) << "small sizes stay multiples of 512";
}

TEST(TorchSnapshot, OlderBlocksCountFromTheBeginning) {
  const Trace trace = importTorchSnapshot(
      snapshot(event("free_requested", 1024, 100, 7) + "," + event("free_completed", 1024, 100, 7) + "," +
                   event("segment_free", 8 * kMiB, 2 * kMiB, 8) + "," + event("segment_alloc", 4 * kMiB, kMiB, 9),
               segment(0, kMiB, block(2048, 512)) + "," + segment(4 * kMiB, kMiB, "")),
      "s");
  const MemoryCurve blocks(trace, TrackId{0}), segments(trace, TrackId{1});
  EXPECT_EQ(blocks.bytesAt(0), 1024);
  EXPECT_EQ(atEnd(trace, 0), 512);
  EXPECT_TRUE(on(trace, 0)[0].older && on(trace, 0)[1].older);
  EXPECT_EQ(on(trace, 0)[0].freeRequestedNs, 1) << "after the beginning, so that the block is seen";
  EXPECT_EQ(segments.bytesAt(0), 3 * kMiB);
  EXPECT_EQ(segments.peak().bytes, 3 * kMiB);
  EXPECT_EQ(atEnd(trace, 1), 2 * kMiB);
  EXPECT_THAT(trace.losses, IsEmpty());
}

TEST(TorchSnapshot, FreesOnlyRequestedOrStillPending) {
  const std::string onlyRequested = event("alloc", 512, 512, 1) + "," + event("free_requested", 512, 512, 2);
  const Trace freed = importTorchSnapshot(snapshot(onlyRequested, ""), "s");
  EXPECT_EQ(freed.allocations[0].freeNs, 1000);
  const Trace pending = importTorchSnapshot(snapshot(onlyRequested + "," + event("free_completed", 9000, 512, 3),
                                                     segment(0, 16384, block(512, 512, "active_pending_free"))),
                                            "s");
  const Allocation allocation = on(pending, 0).back();
  EXPECT_EQ(allocation.freeNs, kNever);
  EXPECT_EQ(allocation.freeRequestedNs, 1000);
}

TEST(TorchSnapshot, ExpandableSegmentsGrowAndShrink) {
  const int64_t m = kMiB;
  const std::string bytes =
      snapshot(event("segment_map", 20 * m, 2 * m, 1) + "," + event("segment_map", 22 * m, 4 * m, 2) + "," +
                   event("alloc", 20 * m, 5 * m, 3) + "," + event("free_completed", 20 * m, 5 * m, 4) + "," +
                   event("segment_unmap", 21 * m, 2 * m, 5) + "," + event("alloc", 23 * m, 3 * m, 6),
               segment(20 * m, m, "", R"(, "is_expandable": true)") + "," +
                   segment(23 * m, 3 * m, block(23 * m, 3 * m), R"(, "is_expandable": true)"),
               R"({"expandable_segments": true})");
  const Trace trace = importTorchSnapshot(bytes, "s");
  const MemoryCurve held(trace, TrackId{1});
  std::vector<int64_t> curve;
  for (const auto& point : held.points()) curve.push_back(point.bytes / m);
  EXPECT_THAT(curve, ElementsAre(2, 6, 4));
  EXPECT_EQ(on(trace, 0)[0].bytes, 5 * m) << "a rest of 1 MiB is split off in an expandable segment";
  EXPECT_THAT(trace.losses, IsEmpty());
  const Trace again = importTorchSnapshot(exportMemoryViz(trace), "again");
  EXPECT_EQ(atEnd(again, 1), 4 * m);
  EXPECT_EQ(MemoryCurve(again, TrackId{1}).peak().bytes, 6 * m);
}

TEST(TorchSnapshot, OldFormatsAndNoTimes) {
  const Trace bare = importTorchSnapshot(
      R"([{"device": 1, "address": 4096, "total_size": 2097152, "stream": 3, "blocks": [
           {"size": 1024, "state": "inactive"},
           {"size": 512, "state": "active_allocated", "history":
             [{"addr": 5120, "real_size": 400, "frames": [{"name": "f", "filename": "/x/a.py", "line": 9}]}]}]}])",
      "s");
  ASSERT_EQ(on(bare, 0).size(), 1u);
  const Allocation block = on(bare, 0)[0];
  EXPECT_EQ(block.address, 5120u);
  EXPECT_EQ(block.bytes, 512);
  EXPECT_EQ(block.requestedBytes, 400);
  EXPECT_EQ(block.stream, 3);
  EXPECT_EQ(bare.strings[block.name], "a.py:f:9");
  EXPECT_EQ(bare.tracks[0].device, 1);

  const std::string noTimes = R"({"device_traces": [[], [{"action": "alloc", "addr": 512, "size": 5, "stream": 0},
      {"action": "free_completed", "addr": 512, "size": 5, "stream": 0}]], "segments": []})";
  const Trace trace = importTorchSnapshot(noTimes, "s");
  EXPECT_EQ(trace.allocations[0].allocNs, 0);
  EXPECT_EQ(trace.allocations[0].freeNs, 1);
  EXPECT_EQ(spelledOut(importTorchSnapshot(exportMemoryViz(trace), "again")), spelledOut(trace));
}

TEST(TorchSnapshot, WhatIsMissingIsCounted) {
  const Trace trace = importTorchSnapshot(
      snapshot(event("alloc", 512, 5) + "," + event("alloc", 512, 6) + "," + event("free_completed", 512, 6) + "," +
                   event("free_completed", 512, 6) + "," + event("alloc", 4096, 7) + "," +
                   event("segment_alloc", 64 * kMiB, kMiB) + "," + event("novelty", 1, 1) + "," +
                   R"({"action": "oom", "device_free": 5, "size": 9, "stream": 0}, {"action": "snapshot"})",
               segment(0, kMiB, R"({"size": 512, "state": "active_allocated", "address": 512},
                                  {"size": 512, "state": "active_allocated", "address": 9216,
                                   "frames": [{"name": "f", "filename": "a.py", "line": 1}]})"),
               R"({"trace_alloc_overflowed": true})"),
      "s");
  EXPECT_EQ(lost(trace, "frees missing: the address was allocated again"), 1);
  EXPECT_EQ(lost(trace, "frees of blocks that were not in use"), 1);
  EXPECT_EQ(lost(trace, "blocks that were never freed, but are not there at the end"), 1);
  EXPECT_EQ(lost(trace, "blocks that were freed, but are there at the end"), 1);
  EXPECT_EQ(lost(trace, "segments taken, but neither given back nor held at the end"), 1);
  EXPECT_EQ(lost(trace, "allocations recorded before the first event"), 1);
  EXPECT_EQ(lost(trace, "events of an unknown action"), 1);
  EXPECT_EQ(lost(trace, "out-of-memory events"), 1);
  EXPECT_EQ(lost(trace, "snapshot events"), 1);
  EXPECT_EQ(lost(trace, "histories cut short"), 1);
  EXPECT_EQ(trace.losses.size(), 10u);
}

TEST(TorchSnapshot, ErrorsNameThePlaceAndWhatIsAllowed) {
  const auto errorOf = [](const std::string& bytes) {
    return inputError([&] { importTorchSnapshot(bytes, "s.pickle"); });
  };
  EXPECT_EQ(errorOf("PK"), "s.pickle: is no PyTorch memory snapshot; allowed: a pickle of protocol 2 to 5, or JSON");
  EXPECT_THAT(errorOf("{}"), HasSubstr("has neither 'segments' nor 'device_traces'"));
  EXPECT_THAT(errorOf("{\"segments\": 1"), HasSubstr("is not valid JSON"));
  EXPECT_THAT(errorOf(std::string(100, '[')), HasSubstr("nested too deep"));
  EXPECT_EQ(errorOf(snapshot(event("alloc", 512, -5), "")),
            "s.pickle: device_traces[0][0].size is -5; allowed: an integer from 0 to 1152921504606846976");
  EXPECT_THAT(errorOf(snapshot("{}", "")), HasSubstr("device_traces[0][0].action is missing; needed: a text"));
  EXPECT_THAT(errorOf(snapshot("7", "")), HasSubstr("device_traces[0][0] is 7; allowed: a dict"));
  EXPECT_THAT(errorOf(snapshot("", segment(0, 512, R"({"size": 1, "state": 5})"))),
              HasSubstr("segments[0].blocks[0].state is 5; allowed: a text"));
  EXPECT_THAT(errorOf(snapshot("", R"({"address": 18446744073709551615, "total_size": 5})")),
              HasSubstr("segments[0] has address 18446744073709551615; allowed: below 2^63"));
}

TEST(TorchSnapshot, SharedRecordsCannotBlowUp) {
  // One dict of an event, one list with 1,000 references to it, and that list as the trace of each of 1,000 devices.
  std::string bomb = "\x80\x02}(X\x0d" + std::string(3, '\0') + "device_traces](](}(";
  for (const auto& [key, value] : {std::pair<char, std::string>{'\x06', "actionX\x05" + std::string(3, '\0') + "alloc"},
                                   {'\x04', "addrK\x01"},
                                   {'\x04', "sizeK\x01"}})
    bomb += std::string("X") + key + std::string(3, '\0') + value;
  bomb += "uq" + std::string(1, '\0');
  for (int i = 1; i < 1000; ++i) bomb += std::string("h") + '\0';
  bomb += "eq\x01";
  for (int i = 1; i < 1000; ++i) bomb += "h\x01";
  bomb += "eu.";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(inputError([&] { importTorchSnapshot(bomb, "s"); }), HasSubstr("repeats records of the file too often"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST(TorchSnapshot, EveryPrefixAndFlippedBitsAreAnswered) {
  const std::string whole =
      exportMemoryViz(importTorchSnapshot(snapshot(event("alloc", 512, 5, 1) + "," + event("free_completed", 512, 5, 2),
                                                   segment(0, 4096, block(1024, 512))),
                                          "s"));
  for (size_t length = 0; length < whole.size(); ++length)
    inputError([&] { importTorchSnapshot(std::string_view(whole).substr(0, length), "s"); });
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ 1 << bit % 8);
    try {
      importTorchSnapshot(flipped, "s");
    } catch (const InputError&) {
    }
  }
}

TEST(MemoryViz, PlacesMemoryWithoutAddressesOrSegments) {
  Trace trace;
  trace.tracks = {{"plan", TrackKind::planned}, {"seen", TrackKind::observed, 2}};
  trace.allocations = {{.track = TrackId{0}, .bytes = 99},
                       {.track = TrackId{1}, .bytes = 1000, .allocNs = 5, .freeNs = 2500},
                       {.track = TrackId{1}, .bytes = 3000, .allocNs = 1500}};
  const Trace again = importTorchSnapshot(exportMemoryViz(trace), "s");
  ASSERT_EQ(again.tracks.size(), 2u);
  EXPECT_EQ(again.tracks[0].device, 2);
  EXPECT_EQ(on(again, 0).size(), 2u) << "planned buffers were never allocated";
  EXPECT_EQ(atEnd(again, 0), 3000);
  EXPECT_EQ(atEnd(again, 1), 3000);
}

}  // namespace
}  // namespace moeblaze
