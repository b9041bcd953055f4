#include "traces/import/kineto/kineto.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/gzip_data.h"
#include "tests/support/input_error.h"
#include "traces/formats/gzip.h"
#include "traces/import/kineto/kineto_events.h"

namespace moeblaze {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string sampleBytes() {
  std::ifstream in(MOEBLAZE_SAMPLES "/kineto_qwen3moe_2layer.json.gz", std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string sampleText() {
  std::string storage;
  return std::string(gunzip(sampleBytes(), storage, "sample"));
}

TrackId trackNamed(const Trace& trace, std::string_view name) {
  for (size_t i = 0; i < trace.tracks.size(); ++i)
    if (trace.tracks[i].name == name) return static_cast<TrackId>(i);
  ADD_FAILURE() << "no track " << name;
  return TrackId::none;
}

std::map<std::string, size_t> spansByTrack(const Trace& trace) {
  std::map<std::string, size_t> counts;
  for (const Span& span : trace.spans) ++counts[trace.tracks[index(span.track)].name];
  return counts;
}

int64_t lossOf(const Trace& trace, std::string_view what) {
  for (const Loss& loss : trace.losses)
    if (loss.what.find(what) != std::string::npos) return loss.count;
  return 0;
}

Trace importEvents(const std::string& events) { return importKineto("{\"traceEvents\": [" + events + "]}", "t.json"); }

std::string memoryEvent(const std::string& ts, int64_t bytes, uint64_t address, int order, int64_t total = -1) {
  const json args{{"Bytes", bytes},
                  {"Addr", address},
                  {"Ev Idx", order},
                  {"Device Id", 0},
                  {"Device Type", 1},
                  {"Total Allocated", total},
                  {"Total Reserved", total < 0 ? -1 : 1 << 20}};
  return R"({"ph": "i", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": )" + ts +
         ", \"args\": " + args.dump() + "}";
}

/// The sample's memory events of one device in time order, read by another parser.
std::vector<json> sampleMemory(int type) {
  const json file = json::parse(sampleText());
  std::vector<json> events;
  for (const json& event : file["traceEvents"])
    if (event["name"] == "[memory]" && event["args"]["Device Type"] == type) events.push_back(event);
  std::ranges::stable_sort(events, {}, [](const json& event) { return event["ts"].get<double>(); });
  return events;
}

void expectCurveIsTotal(const Trace& trace, std::string_view trackName, int type) {
  const MemoryCurve curve(trace, trackNamed(trace, trackName));
  const std::vector<json> events = sampleMemory(type);
  ASSERT_FALSE(events.empty());
  // The curve has a point at each event, and one at time 0 where something is older than the recording.
  const size_t older = curve.points().size() - events.size();
  ASSERT_LE(older, 1u);
  for (size_t i = 0; i < events.size(); ++i)
    ASSERT_EQ(curve.points()[older + i].bytes, events[i]["args"]["Total Allocated"].get<int64_t>()) << i;
}

TEST(Kineto, CurveIsTheFilesOwnTotalAtEveryMemoryEvent) {
  const Trace trace = importKineto(sampleBytes(), "sample");
  expectCurveIsTotal(trace, "memory, device 0", 1);
  expectCurveIsTotal(trace, "memory, host", 0);
  EXPECT_EQ(lossOf(trace, "totals"), 0);
  EXPECT_EQ(lossOf(trace, "frees"), 0);
}

TEST(Kineto, CountersHoldTheFilesTotals) {
  const Trace trace = importKineto(sampleBytes(), "sample");
  const std::vector<json> events = sampleMemory(1);
  const TrackId track = trackNamed(trace, "memory, device 0");
  for (const char* name : {"Total Allocated", "Total Reserved"}) {
    const auto counter = std::ranges::find_if(trace.counters, [&](const Counter& c) {
      return c.track == track && trace.strings[c.name] == name && trace.strings[c.unit] == "bytes";
    });
    ASSERT_NE(counter, trace.counters.end());
    ASSERT_EQ(counter->points.size(), events.size());
    for (size_t i = 0; i < events.size(); ++i)
      EXPECT_EQ(counter->points[i].second, events[i]["args"][name].get<double>());
  }
}

TEST(Kineto, EveryEventOfTheSampleIsKeptOrCounted) {
  const Trace trace = importKineto(sampleBytes(), "sample");
  const std::map<std::string, size_t> expected{
      {"kernels, device 0, stream 7", 624}, {"copies, device 0, stream 7", 21},
      {"memsets, device 0, stream 7", 59},  {"gpu annotations, device 0, stream 7", 1},
      {"annotations, thread 417", 1},       {"cpu ops, thread 417", 1238},
      {"cpu ops, thread 500", 1632}};
  EXPECT_EQ(spansByTrack(trace), expected);
  EXPECT_EQ(lossOf(trace, "'cuda_runtime'"), 905);
  EXPECT_EQ(lossOf(trace, "'cuda_driver'"), 46);
  int64_t lost = 0;
  for (const Loss& loss : trace.losses) lost += loss.count;
  const json file = json::parse(sampleText());
  const auto isRowName = [](const json& event) { return event["ph"] == "M"; };
  EXPECT_EQ(trace.spans.size() + sampleMemory(0).size() + sampleMemory(1).size() + lost +
                std::ranges::count_if(file["traceEvents"], isRowName),
            file["traceEvents"].size());
}

TEST(Kineto, DevicesMetaAndTimesComeAlong) {
  const Trace trace = importKineto(sampleBytes(), "sample");
  ASSERT_EQ(trace.devices.size(), 2u);
  EXPECT_EQ(trace.devices[0].name, "NVIDIA H200");
  EXPECT_EQ(trace.devices[0].memoryBytes, 150109880320);
  EXPECT_EQ(trace.devices[1].name, "host");
  const std::pair<std::string, std::string> base{"baseTimeNanoseconds", "1790857026000000000"};
  EXPECT_NE(std::ranges::find(trace.meta, base), trace.meta.end());
  EXPECT_EQ(trace.spans.front().startNs, 0);
}

TEST(Kineto, TimesAreExactWhereADoubleIsNot) {
  EXPECT_EQ(microsecondsToNs("1790857026000000.123"), 1790857026000000123);
  EXPECT_EQ(microsecondsToNs("-12.5"), -12500);
  EXPECT_EQ(microsecondsToNs("0.0005"), 1);
  EXPECT_EQ(microsecondsToNs("7"), 7000);
  EXPECT_EQ(microsecondsToNs("1.5e3"), 1500000);
  EXPECT_EQ(microsecondsToNs("1e30"), std::nullopt);
  EXPECT_EQ(microsecondsToNs("99999999999999999999999"), std::nullopt);
  EXPECT_EQ(microsecondsToNs("x"), std::nullopt);
  EXPECT_EQ(microsecondsToNs(""), std::nullopt);
}

TEST(Kineto, FreesWithoutAllocationAreOlderThanTheRecording) {
  const Trace trace = importEvents(memoryEvent("10", 512, 64, 1, 5512) + "," + memoryEvent("11", -3000, 128, 2, 2512) +
                                   "," + memoryEvent("12.5", -512, 64, 3, 2000));
  ASSERT_EQ(trace.allocations.size(), 3u);
  const Allocation &known = trace.allocations[0], &freed = trace.allocations[1], &rest = trace.allocations[2];
  EXPECT_EQ(std::tuple(known.bytes, known.allocNs, known.freeNs, known.older), std::tuple(512, 0, 2500, false));
  EXPECT_EQ(std::tuple(freed.bytes, freed.allocNs, freed.freeNs, freed.older), std::tuple(3000, 0, 1000, true));
  EXPECT_EQ(std::tuple(rest.bytes, rest.allocNs, rest.freeNs, rest.older), std::tuple(2000, 0, kNever, true));
  EXPECT_TRUE(trace.losses.empty());
}

TEST(Kineto, EventsOfOneInstantKeepTheirOrder) {
  const Trace trace = importEvents(memoryEvent("10", -512, 64, 2) + "," + memoryEvent("10", 512, 64, 1));
  ASSERT_EQ(trace.allocations.size(), 1u);
  EXPECT_EQ(trace.allocations[0].allocNs, 0);
  EXPECT_EQ(trace.allocations[0].freeNs, 1);
}

TEST(Kineto, WhatDoesNotFitIsCounted) {
  const Trace trace = importEvents(
      memoryEvent("10", 512, 64, 1, 512) + "," + memoryEvent("11", 256, 64, 2, 9999) + "," +
      memoryEvent("12", 100, 32, 3) + "," + memoryEvent("13", -99, 32, 4) + "," + memoryEvent("14", 0, 96, 5) + "," +
      memoryEvent("15", int64_t{1} << 61, 96, 6) + "," + memoryEvent("\"late\"", 512, 64, 7) + ", 7, [[]]," +
      R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": -1, "args": {"device": 0, "stream": 1}},)" +
      R"({"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "pid": "Spans", "tid": 7},)" +
      R"({"ph": "X", "cat": "cpu_op", "name": "k", "ts": 1}, {"ph": "X", "cat": "new", "ts": 1, "dur": 1}, {})");
  EXPECT_EQ(lossOf(trace, "frees missing"), 1);
  EXPECT_EQ(lossOf(trace, "totals that do not follow"), 1);
  EXPECT_EQ(lossOf(trace, "frees of another size"), 1);
  EXPECT_EQ(lossOf(trace, "allocations of no bytes"), 1);
  EXPECT_EQ(lossOf(trace, "malformed [memory]"), 2);
  EXPECT_EQ(lossOf(trace, "not objects"), 2);
  EXPECT_EQ(lossOf(trace, "malformed events of category 'kernel'"), 1);
  EXPECT_EQ(lossOf(trace, "'kernel' without device and stream"), 1);
  EXPECT_EQ(lossOf(trace, "malformed events of category 'cpu_op'"), 1);
  EXPECT_EQ(lossOf(trace, "'new'"), 1);
  EXPECT_EQ(lossOf(trace, "category ''"), 1);
  EXPECT_TRUE(trace.spans.empty());
}

TEST(Kineto, ForeignCategoriesDoNotGrowWithoutBound) {
  std::string events = "{}";
  for (int i = 0; i < 500; ++i) events += ", {\"cat\": \"c" + std::to_string(i) + "\"}";
  const Trace trace = importEvents(events);
  EXPECT_EQ(trace.losses.size(), 33u);
  EXPECT_EQ(trace.losses.back().count, 501 - 32);
}

TEST(Kineto, WrongFilesGetOneLine) {
  const auto error = [](const std::string& text) { return inputError([&] { importKineto(text, "t.json"); }); };
  EXPECT_EQ(error(""), "t.json: the JSON ends early, after 0 bytes; allowed: a whole file");
  EXPECT_EQ(error("{\"traceEvents\": [{}"), "t.json: the JSON ends early, after 19 bytes; allowed: a whole file");
  EXPECT_THAT(error("{\"traceEvents\": [nan]}"), HasSubstr("t.json: not valid JSON at byte 19 near '"));
  EXPECT_THAT(error("{\"traceEvents\": [1e999]}"), HasSubstr("holds a number beyond 1.8e+308"));
  EXPECT_THAT(error("{\"traceEvents\": []} x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(error("{\"a\": 1}"), HasSubstr("holds no list 'traceEvents'"));
  EXPECT_THAT(error("[]"), HasSubstr("holds no list 'traceEvents'"));
  EXPECT_THAT(error("{\"traceEvents\": {}}"), HasSubstr("holds no list 'traceEvents'"));
  EXPECT_THAT(error(std::string(1 << 20, '[')), HasSubstr("nested too deep; allowed: up to 64 levels"));
  EXPECT_THAT(error(gzipped(std::string(size_t{24} << 20, ' '))), HasSubstr("unpacks to more than"));
}

TEST(Kineto, HugeNumbersAreMalformedNotOverflow) {
  const std::string huge = "18446744073709551615";
  const Trace trace = importEvents(
      R"({"ph": "i", "name": "[memory]", "ts": 9e15, "args": {"Bytes": )" + huge + R"(, "Addr": )" + huge +
      R"(, "Device Id": 0, "Device Type": 1}}, {"ph": "X", "cat": "kernel", "name": "k", "ts": 1e300, "dur": 1,)" +
      R"( "args": {"device": 0, "stream": 0}}, {"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1,)" +
      R"( "args": {"device": )" + huge + R"(, "stream": 0}}, )" + memoryEvent("1", int64_t{1} << 60, ~0ull, 1));
  EXPECT_EQ(lossOf(trace, "malformed [memory]"), 1);
  EXPECT_EQ(lossOf(trace, "malformed events of category 'kernel'"), 1);
  EXPECT_EQ(lossOf(trace, "without device"), 1);
  ASSERT_EQ(trace.allocations.size(), 1u);
  EXPECT_EQ(trace.allocations[0].address, ~0ull);
  std::string many = "{}";
  for (int i = 0; i < 5; ++i) many += ", " + memoryEvent("1", int64_t{1} << 60, 64 + i, i);
  EXPECT_THAT(inputError([&] { importEvents(many); }), HasSubstr("too many bytes in all"));
}

TEST(Kineto, EveryTruncationOfTheSampleIsRefusedQuickly) {
  const std::string packed = sampleBytes();
  const std::string text = sampleText().substr(0, 20000);
  const auto start = std::chrono::steady_clock::now();
  for (size_t size = 0; size < text.size(); size += 97)
    inputError([&] { importKineto(std::string_view(text).substr(0, size), "t.json"); });
  for (size_t size = 2; size < packed.size(); size += 9001)
    inputError([&] { importKineto(std::string_view(packed).substr(0, size), "t.json.gz"); });
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Kineto, FlippedBitsGiveATraceOrOneLine) {
  const std::string text = sampleText().substr(0, 3000) + "}]}";
  for (size_t byte = 0; byte < text.size(); byte += 3)
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = text;
      damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << bit));
      try {
        importKineto(damaged, "t.json");
      } catch (const InputError& error) {
        EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
      }
    }
}

}  // namespace
}  // namespace moeblaze
