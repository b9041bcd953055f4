#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/support/input_error.h"
#include "tests/support/temp_file.h"
#include "traces/export/chrome.h"
#include "traces/export/csv.h"
#include "traces/export/rows.h"
#include "traces/formats/sqlite.h"
#include "traces/import/kineto/kineto.h"

namespace moeblaze {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A trace that holds every kind of thing, with some names and values that are awkward to write.
Trace smallTrace() {
  Trace trace;
  trace.meta = {{"source", "test"}, {"a \"key\"", "line\nline"}};
  trace.devices = {{0, "GPU \"zero\"", int64_t{80} << 30}, {-1, "host", 0}};
  trace.tracks = {{"plan", TrackKind::planned, 0},
                  {"reserved, device 0", TrackKind::segments, 0},
                  {"host", TrackKind::observed, -1}};
  const auto text = [&](std::string_view t) { return trace.strings.add(t); };
  trace.spans = {{TrackId{0}, text("gemm<a, \"b\">"), 1001, 2999, StepId{3}}, {TrackId{2}, text("op"), 0, 0}};
  const StackId stack = trace.stacks.add({{text("f"), text("a,b.py"), 7}, {text("main"), text("m.py"), 1}});
  trace.allocations = {{.track = TrackId{0},
                        .name = text("x, \"y\"\nz"),
                        .role = Role::saved,
                        .bytes = 4096,
                        .requestedBytes = 4000,
                        .allocNs = 1234567,
                        .freeNs = 2234568,
                        .step = StepId{3},
                        .stack = stack,
                        .freeRequestedNs = 2234000,
                        .address = 0xfffffffffffff000,
                        .stream = 7},
                       {.track = TrackId{0}, .older = true, .bytes = 10},
                       {.track = TrackId{1}, .name = text("\xff bad UTF-8"), .bytes = int64_t{1} << 60}};
  trace.counters = {{TrackId{0}, text("clock"), text("MHz"), {{5, 1980.5}, {6, 1e300}}},
                    {TrackId::none, text("rate"), StringId::empty, {{7, std::numeric_limits<double>::infinity()}}}};
  trace.losses = {{"dropped records", 12}};
  return trace;
}

json chromeJson(const Trace& trace) {
  std::ostringstream out;
  exportChrome(trace, out);
  return json::parse(out.str());
}

std::vector<json> eventsOf(const json& file, const std::string& phase, const std::string& category = "") {
  std::vector<json> events;
  for (const json& event : file["traceEvents"])
    if (event["ph"] == phase && (category.empty() || event.value("cat", "") == category)) events.push_back(event);
  return events;
}

int64_t ns(const json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

/// Expects every span, allocation and point of `trace` in its Chrome JSON.
void expectComplete(const Trace& trace) {
  const json file = chromeJson(trace);
  const std::vector<json> spans = eventsOf(file, "X");
  ASSERT_EQ(spans.size(), trace.spans.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i]["name"], trace.strings[trace.spans[i].name]);
    EXPECT_EQ(ns(spans[i]["ts"]), trace.spans[i].startNs);
    EXPECT_EQ(ns(spans[i]["dur"]), trace.spans[i].durationNs);
    EXPECT_EQ(spans[i]["tid"], index(trace.spans[i].track) + 1);
  }
  std::map<size_t, json> ends;
  for (const json& end : eventsOf(file, "e", "allocation")) ends[end["id"]] = end;
  const std::vector<json> begins = eventsOf(file, "b", "allocation");
  ASSERT_EQ(begins.size(), trace.allocations.size());
  for (size_t i = 0; i < begins.size(); ++i) {
    const Allocation& allocation = trace.allocations[i];
    EXPECT_EQ(begins[i]["args"]["bytes"], allocation.bytes);
    EXPECT_EQ(begins[i]["args"]["role"], std::string(name(allocation.role)));
    EXPECT_EQ(ns(begins[i]["ts"]), allocation.allocNs);
    EXPECT_EQ(ends.contains(i), allocation.freeNs != kNever);
    if (ends.contains(i)) {
      EXPECT_EQ(ns(ends[i]["ts"]), allocation.freeNs);
    }
  }
  size_t points = 0, curvePoints = 0;
  for (const Counter& counter : trace.counters) points += counter.points.size();
  for (size_t i = 0; i < trace.tracks.size(); ++i)
    curvePoints += MemoryCurve(trace, static_cast<TrackId>(i)).points().size();
  EXPECT_EQ(eventsOf(file, "C", "counter").size(), points);
  EXPECT_EQ(eventsOf(file, "C", "memory").size(), curvePoints);
}

TEST(Chrome, EverySpanAllocationAndPointIsThere) {
  Trace trace = smallTrace();
  expectComplete(trace);
  expectComplete(Trace());
  std::ifstream in(MOEBLAZE_SAMPLES "/kineto_qwen3moe_2layer.json.gz", std::ios::binary);
  expectComplete(importKineto(std::string(std::istreambuf_iterator<char>(in), {}), "sample"));
}

TEST(Chrome, FieldsReadAsWritten) {
  const json file = chromeJson(smallTrace());
  const json allocation = eventsOf(file, "b")[0];
  EXPECT_EQ(allocation["name"], "x, \"y\"\nz");
  EXPECT_EQ(allocation["args"], json({{"bytes", 4096},
                                      {"requested bytes", 4000},
                                      {"role", "saved"},
                                      {"address", "0xfffffffffffff000"},
                                      {"stream", 7},
                                      {"step", 3},
                                      {"older", false},
                                      {"freed", true},
                                      {"free requested", 2234.0},
                                      {"stack", {"f (a,b.py:7)", "main (m.py:1)"}}}));
  EXPECT_EQ(eventsOf(file, "b")[2]["name"], "\xef\xbf\xbd bad UTF-8");
  const std::vector<json> memory = eventsOf(file, "C", "memory");
  EXPECT_EQ(memory[0]["args"], json({{"allocated", 10}}));
  EXPECT_EQ(memory.back()["args"], json({{"reserved", int64_t{1} << 60}}));
  const std::vector<json> counters = eventsOf(file, "C", "counter");
  EXPECT_EQ(counters[0]["name"], "plan: clock");
  EXPECT_EQ(counters[1]["args"], json({{"MHz", 1e300}}));
  EXPECT_EQ(counters[2]["args"], json({{"value", nullptr}}));
  EXPECT_EQ(file["otherData"], json({{"source", "test"},
                                     {"a \"key\"", "line\nline"},
                                     {"losses", {{{"what", "dropped records"}, {"count", 12}}}}}));
}

TEST(Chrome, TimesKeepTheirNanoseconds) {
  Trace trace;
  trace.tracks = {{"t", TrackKind::observed, 0}};
  trace.spans = {{TrackId{0}, StringId::empty, 4611686018427387905, 1}, {TrackId{0}, StringId::empty, -1, 1000}};
  std::ostringstream out;
  exportChrome(trace, out);
  EXPECT_THAT(out.str(), HasSubstr("\"ts\":4611686018427387.905,\"dur\":0.001"));
  EXPECT_THAT(out.str(), HasSubstr("\"ts\":-0.001,\"dur\":1.000"));
}

TEST(Chrome, RowsHaveTheNamesOfTracksAndDevices) {
  const json file = chromeJson(smallTrace());
  std::map<std::string, json> threads, processes;
  for (const json& row : eventsOf(file, "M")) {
    if (row["name"] == "thread_name") threads[row["args"]["name"]] = row;
    if (row["name"] == "process_name") processes[row["args"]["name"]] = row;
  }
  EXPECT_EQ(threads.at("plan")["pid"], processes.at("GPU \"zero\"")["pid"]);
  EXPECT_EQ(threads.at("host")["pid"], processes.at("host")["pid"]);
  EXPECT_EQ(threads.size(), 3u);
}

TEST(Csv, OneLineAnAllocationWithEveryField) {
  std::ostringstream out;
  exportCsv(smallTrace(), out);
  EXPECT_EQ(out.str(),
            "track,kind,device,name,role,older,bytes,requested_bytes,alloc_ns,free_ns,free_requested_ns,step,address,"
            "stream,stack\n"
            "plan,planned,0,\"x, \"\"y\"\"\nz\",saved,false,4096,4000,1234567,2234568,2234000,3,0xfffffffffffff000,7,"
            "\"f (a,b.py:7); main (m.py:1)\"\n"
            "plan,planned,0,,unknown,true,10,0,0,,,,0x0,0,\n"
            "\"reserved, device 0\",segments,0,\xff bad UTF-8,unknown,false,1152921504606846976,0,0,,,,0x0,0,\n");
}

TEST(Rows, EveryTableHoldsItsRows) {
  const TempFolder folder;
  const std::string path = (folder.path() / "rows.sqlite").string();
  const Trace trace = smallTrace();
  exportRows(trace, path);
  exportRows(trace, path);  // replaces the file that is there
  auto database = sqlite::Database::openToRead(path);
  const auto count = [&](const std::string& what) { return database.integer("SELECT count(*) FROM " + what); };
  EXPECT_EQ(count("meta"), 2);
  EXPECT_EQ(count("devices WHERE memory_bytes IS NULL OR id = 0"), 2);
  EXPECT_EQ(count("tracks"), 3);
  EXPECT_EQ(count("spans WHERE step = 3 AND start_ns = 1001 AND duration_ns = 2999"), 1);
  EXPECT_EQ(count("allocations"), 3);
  EXPECT_EQ(count("allocations WHERE free_ns IS NULL AND stack IS NULL AND step IS NULL AND address IS NULL"), 2);
  EXPECT_EQ(count("allocations JOIN tracks ON tracks.id = track WHERE tracks.name = 'plan' AND role = 'saved' AND "
                  "address = -4096 AND requested_bytes = 4000 AND free_requested_ns = 2234000 AND stream = 7"),
            1);
  EXPECT_EQ(count("allocations JOIN stacks ON stacks.id = stack WHERE depth = 0 AND function = 'f' AND line = 7"), 1);
  EXPECT_EQ(count("counter_points JOIN counters ON counters.id = counter WHERE unit = 'MHz' AND value > 1000"), 2);
  EXPECT_EQ(count("counters WHERE track IS NULL"), 1);
  EXPECT_EQ(database.integer("SELECT count FROM losses"), 12);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);  // no temporary files are left
}

TEST(Rows, APathThatCannotBeWrittenIsNamed) {
  const TempFolder folder;
  const std::string path = (folder.path() / "missing" / "rows.sqlite").string();
  EXPECT_THAT(inputError([&] { exportRows(smallTrace(), path); }), HasSubstr(path + ": cannot be written"));
  EXPECT_THAT(inputError([&] { exportRows(smallTrace(), folder.path().string()); }), HasSubstr("cannot be written"));
}

}  // namespace
}  // namespace moeblaze
