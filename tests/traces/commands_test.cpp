// Runs moeblaze-trace as a user does.
#include "traces/commands/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/support/run.h"
#include "tests/support/temp_file.h"
#include "traces/store/store.h"

namespace moeblaze {
namespace {

Ran trace(const std::vector<std::string>& arguments) { return run(runTraces, "moeblaze-trace", arguments); }

const std::string kSnapshot = MOEBLAZE_SAMPLES "/torch_snapshot_qwen3moe_2layer.pickle";
const std::string kKineto = MOEBLAZE_SAMPLES "/kineto_qwen3moe_2layer.json.gz";

TEST(TraceInfo, SnapshotTellsPyTorchsOwnFigures) {
  const Ran ran = trace({"info", kSnapshot, "--format", "json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  const auto record = ran.json().at(0);
  EXPECT_EQ(record.at("allocated_peak_bytes"), 1282181120);
  EXPECT_EQ(record.at("reserved_peak_bytes"), 1537212416);
  EXPECT_EQ(record.at("kind"), "PyTorch memory snapshot");
  EXPECT_THAT(trace({"info", kSnapshot}).out, testing::HasSubstr("1,282,181,120"));
}

TEST(TraceInfo, KinetoIsReadDirectly) {
  const Ran ran = trace({"info", kKineto, "--format", "json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  EXPECT_GT(ran.json().at(0).at("spans"), 100);
}

TEST(TraceImport, KeepsEverything) {
  const TempFolder folder;
  const std::string file = (folder.path() / ("s.mbtrace")).string();
  ASSERT_EQ(trace({"import", kSnapshot, "-o", file}).status, 0);
  const auto before = trace({"info", kSnapshot, "--format", "json"}).json().at(0);
  const auto after = trace({"info", file, "--format", "json"}).json().at(0);
  for (const char* key :
       {"allocations", "frees", "duration_ms", "allocated_peak_bytes", "reserved_peak_bytes", "tracks"})
    EXPECT_EQ(before.at(key), after.at(key)) << key;
  EXPECT_EQ(after.at("kind"), "mbtrace");
}

TEST(TraceExport, EveryFormIsWritten) {
  const TempFolder folder;
  for (const std::string form : {"chrome", "csv", "rows", "memory-viz"}) {
    const std::string file = (folder.path() / ("out." + form)).string();
    ASSERT_EQ(trace({"export", kSnapshot, "--to", form, "-o", file}).status, 0) << form;
    EXPECT_GT(std::ifstream(file, std::ios::ate).tellg(), 1000) << form;
  }
  std::ifstream chrome((folder.path() / ("out.chrome")).string());
  EXPECT_TRUE(nlohmann::json::parse(chrome).contains("traceEvents"));
  EXPECT_EQ(trace({"info", (folder.path() / ("out.memory-viz")).string(), "--format", "json"})
                .json()
                .at(0)
                .at("allocated_peak_bytes"),
            1282181120);
  EXPECT_EQ(trace({"export", kSnapshot, "--to", "xml", "-o", "x"}).status, 2);
}

Trace small(int64_t large, const char* name) {
  Trace trace;
  trace.tracks.push_back({"t", TrackKind::observed});
  const auto add = [&](const char* text, int64_t bytes, int64_t from, int64_t to) {
    trace.allocations.push_back({.track = TrackId{0},
                                 .name = trace.strings.add(text),
                                 .role = Role::transient,
                                 .bytes = bytes,
                                 .allocNs = from,
                                 .freeNs = to});
  };
  add("first", 1 << 20, 0, 100);
  add(name, large, 10, 50);
  add("last", 3 << 20, 20, kNever);
  trace.spans.push_back({TrackId{0}, trace.strings.add("step"), 0, large, StepId{0}});
  return trace;
}

TEST(TraceDiffCommand, TellsWhatAppearedVanishedAndChanged) {
  const TempFolder folder;
  const std::string a = (folder.path() / ("a.mbtrace")).string(), b = (folder.path() / ("b.mbtrace")).string();
  writeTrace(small(5 << 20, "x"), a);
  writeTrace(small(9 << 20, "y"), b);
  const Ran ran = trace({"diff", a, b, "--format", "json"});
  ASSERT_EQ(ran.status, 0) << ran.err;
  int64_t same = 0, appeared = 0, vanished = 0;
  for (const auto& record : ran.json()) {
    if (record.at("table") == "peak") {
      EXPECT_EQ(record.at("difference_bytes"), 4 << 20);
    }
    if (record.at("table") != "large") continue;
    same += record.at("what") == "same", appeared += record.at("what") == "appeared";
    vanished += record.at("what") == "vanished";
  }
  EXPECT_EQ(same, 2);
  EXPECT_EQ(appeared, 1);
  EXPECT_EQ(vanished, 1);
  const Ran self = trace({"diff", a, a, "--format", "json"});
  for (const auto& record : self.json()) {
    if (record.contains("difference_bytes")) {
      EXPECT_EQ(record.at("difference_bytes"), 0);
    }
    if (record.at("table") == "large") {
      EXPECT_EQ(record.at("what"), "same");
    }
  }
}

TEST(TraceCommands, WrongInputIsOneLineAndStatus2) {
  const TempFolder folder;
  const std::string text = folder.write("text.txt", "hello"), json = folder.write("x.json", "{\"a\": 1}");
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{},
                                             {"info"},
                                             {"info", "/no/such"},
                                             {"info", text},
                                             {"info", json},
                                             {"diff", kKineto},
                                             {"infoo", kSnapshot},
                                             {"import", kSnapshot},
                                             {"info", folder.write("e", "")},
                                             {"info", folder.write("p", "\x80\x04.")}}) {
    const Ran ran = trace(arguments);
    EXPECT_EQ(ran.status, 2) << testing::PrintToString(arguments) << ran.out;
    EXPECT_EQ(std::count(ran.err.begin(), ran.err.end(), '\n'), 1) << ran.err;
  }
}

}  // namespace
}  // namespace moeblaze
