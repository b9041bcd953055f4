#include "traces/import/nsight/nsight.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <map>
#include <tuple>

#include "tests/support/input_error.h"
#include "tests/support/nsight_file.h"
#include "tests/support/temp_file.h"

namespace moeblaze {
namespace {

using testing::HasSubstr;

Trace importSql(const std::string& sql) {
  const TempFolder folder;
  const std::string path = (folder.path() / "t.sqlite").string();
  makeDatabase(path, sql);
  return importNsight(path);
}

const std::string kWhole = std::string(kNsightSchema) + kNsightRows;

int64_t lossOf(const Trace& trace, std::string_view what) {
  for (const Loss& loss : trace.losses)
    if (loss.what.find(what) != std::string::npos) return loss.count;
  return 0;
}

std::vector<const Allocation*> allocationsOn(const Trace& trace, std::string_view track) {
  std::vector<const Allocation*> found;
  for (const Allocation& allocation : trace.allocations)
    if (trace.tracks[index(allocation.track)].name == track) found.push_back(&allocation);
  return found;
}

/// "track: name start+duration" of every span, in order.
std::vector<std::string> spanLines(const Trace& trace) {
  std::vector<std::string> lines;
  for (const Span& span : trace.spans)
    lines.push_back(fmt::format("{}: {} {}+{}", trace.tracks[index(span.track)].name, trace.strings[span.name],
                                span.startNs, span.durationNs));
  return lines;
}

TEST(Nsight, MemoryEventsBecomeAllocations) {
  const Trace trace = importSql(kWhole);
  const auto device = allocationsOn(trace, "memory, device 0");
  ASSERT_EQ(device.size(), 3u);  // times count from the copy at 900
  const auto summary = [](const Allocation* a) { return std::tuple(a->bytes, a->allocNs, a->freeNs, a->older); };
  EXPECT_EQ(summary(device[0]), std::tuple(512, 100, 1100, false));
  EXPECT_EQ(summary(device[1]), std::tuple(300, 0, 600, true));
  EXPECT_EQ(summary(device[2]), std::tuple(256, 1101, kNever, false));  // 1 ns after the free at the same instant
  EXPECT_EQ(trace.strings[device[2]->name], "weights");
  EXPECT_EQ(device[0]->stream, 7);
  EXPECT_EQ(device[0]->address, 4096u);
  const auto pinned = allocationsOn(trace, "pinned memory, host");
  ASSERT_EQ(pinned.size(), 1u);
  EXPECT_EQ(trace.tracks[index(pinned[0]->track)].device, -1);
  EXPECT_EQ(allocationsOn(trace, "managed memory, device 0").size(), 1u);
  EXPECT_EQ(allocationsOn(trace, "memory, device 0, process 78").size(), 1u);
}

TEST(Nsight, WorkAndRangesBecomeSpans) {
  const Trace trace = importSql(kWhole);
  EXPECT_EQ(spanLines(trace),
            (std::vector<std::string>{
                "copies, device 0, stream 7: Host-to-Device 0+50", "memsets, device 0, stream 7: memset 60+10",
                "annotations, thread 11: step 100+1000", "annotations, thread 11: inner 110+10",
                "kernels, device 0, stream 7: void gemm<float>(float*) 200+100",
                "kernels, device 0, stream 13: gemm 400+50", "kernels, device 0, stream 13: kernel 500+50"}));
  EXPECT_EQ(lossOf(trace, "NVTX marks"), 1);
  EXPECT_EQ(trace.losses.size(), 1u);
}

TEST(Nsight, PoolsBecomeCountersAndDevicesAreNamed) {
  const Trace trace = importSql(kWhole);
  std::map<std::string, std::vector<std::pair<int64_t, double>>> counters;
  for (const Counter& counter : trace.counters) counters[trace.strings[counter.name]] = counter.points;
  using Points = std::vector<std::pair<int64_t, double>>;
  EXPECT_EQ(counters.at("pool 0x9000 size"), (Points{{1000, 0}, {1100, 33554432}}));
  EXPECT_EQ(counters.at("pool 0x9000 used"), (Points{{1000, 0}, {1100, 256}}));
  EXPECT_EQ(trace.devices[0].name, "GPU zero");
  EXPECT_EQ(trace.devices[0].memoryBytes, int64_t{80} << 30);
}

TEST(Nsight, NumbersSufficeWithoutTheEnumTables) {
  const Trace trace = importSql(kWhole +
                                "DROP TABLE ENUM_CUDA_MEM_KIND; DROP TABLE ENUM_CUDA_DEV_MEM_EVENT_OPER;"
                                "DROP TABLE StringIds; DROP TABLE TARGET_INFO_GPU;");
  EXPECT_EQ(allocationsOn(trace, "memory, device 0").size(), 3u);
  EXPECT_EQ(allocationsOn(trace, "pinned memory, host").size(), 1u);
}

TEST(Nsight, OptionalColumnsMayBeMissing) {
  const Trace trace = importSql(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, address, bytes, memoryOperationType);"
      "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (5, 64, 100, 0), (9, 64, 100, 1)");
  ASSERT_EQ(trace.allocations.size(), 1u);
  EXPECT_EQ(trace.allocations[0].freeNs, 4);
  EXPECT_EQ(trace.tracks[0].name, "unknown memory, device 0");
}

TEST(Nsight, DamagedRowsAndTablesAreCounted) {
  const Trace trace = importSql(
      "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, address, bytes, memoryOperationType, memKind, deviceId);"
      "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES ('soon', 64, 100, 0, 2, 0), (5, NULL, 100, 0, 2, 0),"
      " (5, 64, -100, 0, 2, 0), (5, 64, 1 << 61, 0, 2, 0), (5, 64, 1, 7, 2, 0), (5, 64, 1, 0, 2, 1 << 40),"
      " (9223372036854775807, 64, 1, 0, 2, 0), (5, 64, x'00', 0, 2, 0), (5, 64, 1.5, 0, 2, 0), (5, 64, 8, 0, 2, 0);"
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, deviceId);"
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 1);"
      "CREATE TABLE NVTX_EVENTS (start, end, text); INSERT INTO NVTX_EVENTS VALUES (2, 1, 'x'), (8, 9, x'ff'),"
      " (8, 9, CAST(x'ff41' AS TEXT))");
  EXPECT_EQ(lossOf(trace, "malformed rows of CUDA_GPU_MEMORY_USAGE_EVENTS"), 9);
  EXPECT_EQ(lossOf(trace, "table CUPTI_ACTIVITY_KIND_KERNEL lacks the column end"), 1);
  EXPECT_EQ(lossOf(trace, "malformed rows of NVTX_EVENTS"), 1);
  EXPECT_EQ(lossOf(trace, "not UTF-8"), 1);
  EXPECT_EQ(trace.allocations.size(), 1u);
  EXPECT_EQ(trace.spans.size(), 2u);
}

TEST(Nsight, OtherFilesGetOneLine) {
  const TempFolder folder;
  EXPECT_THAT(inputError([&] { importNsight(folder.write("t.sqlite", "not a database, but long enough to be")); }),
              HasSubstr("t.sqlite: "));
  EXPECT_THAT(inputError([&] { importNsight((folder.path() / "none.sqlite").string()); }), HasSubstr("none.sqlite: "));
  EXPECT_THAT(inputError([&] { importSql("CREATE TABLE other (a)"); }),
              HasSubstr("holds none of Nsight Systems' tables; allowed: an export with CUDA_GPU_MEMORY_USAGE_EVENTS"));
  // Views and virtual tables are not read: a view could compute anything, and a virtual table runs a module.
  EXPECT_THAT(inputError([&] {
                importSql(
                    "CREATE VIEW CUDA_GPU_MEMORY_USAGE_EVENTS AS WITH RECURSIVE r(start) AS (SELECT 1 UNION ALL "
                    "SELECT start FROM r) SELECT start, 1 AS address, 1 AS bytes, 0 AS memoryOperationType FROM r");
              }),
              HasSubstr("holds none"));
}

TEST(Nsight, GeneratedColumnsAreNotComputed) {
  const Trace trace = importSql(
      "CREATE TABLE NVTX_EVENTS (start, end AS (length(hex(zeroblob(1000)))), text); "
      "INSERT INTO NVTX_EVENTS (start) VALUES (1)");
  EXPECT_EQ(lossOf(trace, "table NVTX_EVENTS lacks the column end"), 1);
}

TEST(Nsight, TruncatedAndFlippedFilesGiveATraceOrOneLineQuickly) {
  const TempFolder folder;
  const std::string path = (folder.path() / "whole.sqlite").string();
  makeDatabase(path, kWhole);
  std::ifstream in(path, std::ios::binary);
  const std::string whole(std::istreambuf_iterator<char>(in), {});
  const auto start = std::chrono::steady_clock::now();
  const auto read = [&](const std::string& bytes) {
    try {
      importNsight(folder.write("damaged.sqlite", bytes));
    } catch (const InputError& error) {
      EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
    }
  };
  for (size_t size = 0; size < whole.size(); size += 173) read(whole.substr(0, size));
  for (size_t byte = 0; byte < whole.size(); byte += 29) {
    std::string damaged = whole;
    damaged[byte] = static_cast<char>(damaged[byte] ^ (1 << (byte % 8)));
    read(damaged);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace moeblaze
