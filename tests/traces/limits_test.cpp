// Every file that `info` reads can also be stored by `import`.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"
#include "tests/support/nsight_file.h"
#include "tests/support/run.h"
#include "tests/support/temp_file.h"
#include "traces/commands/commands.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;

Ran trace(const std::vector<std::string>& arguments) { return run(runTraces, "moeblaze-trace", arguments); }

/// Runs `info` and `import` on `file` and expects that both answer the same. Returns what `info` answered.
Ran bothAnswer(const TempFolder& folder, const std::string& file) {
  const Ran info = trace({"info", file, "--format", "json"});
  const std::string stored = (folder.path() / "stored.mbtrace").string();
  const Ran import = trace({"import", file, "-o", stored});
  EXPECT_EQ(info.status, import.status) << info.err << import.err;
  EXPECT_EQ(std::filesystem::exists(stored), import.status == 0);
  if (import.status == 0) {
    const Ran again = trace({"info", stored, "--format", "json"});
    EXPECT_EQ(again.json().at(0).at("tracks"), info.json().at(0).at("tracks"));
  } else {
    EXPECT_EQ(info.err, import.err);
  }
  std::filesystem::remove(stored);
  return info;
}

/// Both answers for a PyTorch snapshot that allocates each of `bytes`, `gapUs` apart.
Ran snapshotAnswer(const std::vector<int64_t>& bytes, int64_t gapUs = 1) {
  const TempFolder folder;
  std::string events;
  for (size_t i = 0; i < bytes.size(); ++i)
    events += fmt::format(R"({}{{"action": "alloc", "addr": {}, "size": {}, "stream": 0, "time_us": {}}})",
                          i > 0 ? "," : "", 512 * (i + 1), bytes[i], static_cast<int64_t>(i) * gapUs);
  return bothAnswer(folder, folder.write("s.json", fmt::format(R"({{"device_traces": [[{}]]}})", events)));
}

/// Both answers for an Nsight Systems database with an allocation for each pair of time and bytes.
Ran nsightAnswer(const std::vector<std::pair<int64_t, int64_t>>& allocations) {
  const TempFolder folder;
  const std::string path = (folder.path() / "n.sqlite").string();
  std::string sql = "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, address, bytes, memoryOperationType);";
  for (size_t i = 0; i < allocations.size(); ++i)
    sql += fmt::format("INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES ({}, {}, {}, 0);", allocations[i].first, i,
                       allocations[i].second);
  makeDatabase(path, sql);
  return bothAnswer(folder, path);
}

TEST(TraceLimits, BytesOfAnAllocation) {
  EXPECT_EQ(snapshotAnswer({int64_t{1} << 49}).status, 0);
  EXPECT_EQ(snapshotAnswer({kMaxAllocationBytes}).status, 0);
  EXPECT_EQ(snapshotAnswer({kMaxAllocationBytes + 1}).status, 2);
  EXPECT_EQ(nsightAnswer({{0, kMaxAllocationBytes}}).json().at(0).at("losses"), 0);
  EXPECT_EQ(nsightAnswer({{0, kMaxAllocationBytes + 1}}).json().at(0).at("losses"), 1) << "a malformed row";
}

TEST(TraceLimits, BytesOfATrack) {
  EXPECT_EQ(snapshotAnswer({kMaxAllocationBytes, kMaxTrackBytes - kMaxAllocationBytes}).status, 0);
  const Ran more = snapshotAnswer({kMaxAllocationBytes, kMaxTrackBytes - kMaxAllocationBytes, 512});
  EXPECT_EQ(more.status, 2);
  EXPECT_THAT(more.err, HasSubstr("too many bytes in all"));
}

TEST(TraceLimits, TimesFromTheStart) {
  EXPECT_EQ(snapshotAnswer({512, 512}, kMaxTimeNs / 1000).status, 0);
  EXPECT_EQ(snapshotAnswer({512, 512}, kMaxTimeNs / 1000 + 1).status, 2);
  EXPECT_EQ(nsightAnswer({{0, 8}, {kMaxTimeNs, 8}}).status, 0);
  const Ran later = nsightAnswer({{-1, 8}, {kMaxTimeNs, 8}});
  EXPECT_EQ(later.status, 2);
  EXPECT_THAT(later.err, HasSubstr("must be within 2305843009213693952 ns of the start"));
}

TEST(TraceLimits, AnOddTraceIsRefusedAsTheStoreRefusesIt) {
  Trace trace;
  trace.tracks = {{"t", TrackKind::observed, 0}};
  checkTrace("t", trace);
  trace.allocations = {{.track = TrackId{0}, .bytes = 8, .allocNs = 5, .freeNs = 5}};
  checkTrace("t", trace);
  trace.allocations[0].freeNs = 4;
  EXPECT_THROW(checkTrace("t", trace), InputError);
  trace.allocations = {{.track = TrackId{1}, .bytes = 8}};
  EXPECT_THROW(checkTrace("t", trace), InputError);
  trace.allocations.clear();
  trace.counters = {{TrackId{0}, StringId::empty, StringId::empty, {{2, 0}, {1, 0}}}};
  EXPECT_THROW(checkTrace("t", trace), InputError);
}

}  // namespace
}  // namespace moeblaze
