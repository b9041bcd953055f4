#include "traces/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "core/base/error.h"
#include "traces/formats/sqlite.h"

namespace moeblaze {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

/// Gives every test a folder of its own.
class TraceFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("store_test.{}", getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name = "t.mbtrace") const { return (folder_ / name).string(); }
  size_t files() const { return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), {})); }

 private:
  fs::path folder_;
};

std::string bytesOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

void setBytes(const std::string& path, std::string_view bytes) {
  fs::remove(path);  // file systems flush a file that is overwritten, which takes long
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Everything in a trace as text, which can be compared, and read where it differs.
std::string dump(const Trace& trace) {
  std::ostringstream out;
  out.precision(17);
  for (const auto& [key, value] : trace.meta) out << "meta " << key << " = " << value << "\n";
  for (const Device& device : trace.devices)
    out << "device " << device.id << " " << device.name << " " << device.memoryBytes << "\n";
  for (const Track& track : trace.tracks)
    out << "track " << track.name << " " << name(track.kind) << track.device << "\n";
  for (size_t i = 0; i < trace.strings.size(); ++i) out << "string " << trace.strings[static_cast<StringId>(i)] << "\n";
  for (size_t i = 0; i < trace.stacks.size(); ++i) {
    out << "stack";
    for (const Frame& frame : trace.stacks[static_cast<StackId>(i)])
      out << " " << index(frame.function) << ":" << index(frame.file) << ":" << frame.line;
    out << "\n";
  }
  for (const Span& s : trace.spans)
    out << fmt::format("span {} {} {} {} {}\n", static_cast<int>(s.track), index(s.name), s.startNs, s.durationNs,
                       static_cast<int>(s.step));
  for (const Allocation& a : trace.allocations)
    out << fmt::format("allocation {} {} {} {} {} {} {} {} {} {} {} {:x} {}\n", static_cast<int>(a.track),
                       index(a.name), name(a.role), a.older, a.bytes, a.requestedBytes, a.allocNs, a.freeNs,
                       static_cast<int>(a.step), index(a.stack), a.freeRequestedNs, a.address, a.stream);
  for (const Counter& c : trace.counters) {
    out << "counter " << static_cast<int>(c.track) << " " << index(c.name) << " " << index(c.unit);
    for (const auto& [timeNs, value] : c.points) out << " " << timeNs << "=" << value;
    out << "\n";
  }
  for (const Loss& loss : trace.losses) out << "loss " << loss.what << " " << loss.count << "\n";
  return out.str();
}

/// A trace whose fields have values other than their defaults, and odd ones too.
Trace everything() {
  Trace trace;
  trace.meta = {{"source", "test"}, {"config", ""}, {"source", "again"}, {std::string("\0\xff\n'", 4), "\xc3\x28"}};
  trace.devices = {{0, "GPU", int64_t{80} << 30}, {-7, "", 0}};
  trace.tracks = {
      {"planned", TrackKind::planned, 0}, {"observed \xfe", TrackKind::observed, 3}, {"", TrackKind::segments, -1}};
  const StringId odd = trace.strings.add(std::string_view("a\0b\x80", 4)), a = trace.strings.add("a");
  const StackId stack = trace.stacks.add({{odd, a, 12}, {a, odd, -1}, {odd, a, 12}});
  trace.spans = {
      {TrackId{1}, odd, -50, 0, StepId{3}}, {TrackId{0}, a, 7, 9, StepId::none}, {TrackId{1}, a, 3, 1000, StepId{0}}};
  trace.allocations = {
      {.track = TrackId{1}, .name = a, .role = Role::unknown, .bytes = 512, .allocNs = 100, .freeNs = 100},
      {.track = TrackId{0}, .name = odd, .role = Role::input, .older = true, .bytes = 0, .allocNs = -5},
      {.track = TrackId{1},
       .name = odd,
       .role = Role::workspace,
       .bytes = 1 << 20,
       .requestedBytes = 1000000,
       .allocNs = 20,
       .freeNs = 400,
       .step = StepId{2},
       .stack = stack,
       .freeRequestedNs = 90,
       .address = 0xffff'ffff'ffff'fe00,
       .stream = -3},
      {.track = TrackId{1},
       .name = a,
       .bytes = 77,
       .allocNs = 30,
       .freeNs = kNever,
       .freeRequestedNs = 60,
       .stream = int64_t{1} << 62},
      {.track = TrackId{2}, .name = a, .bytes = 2 << 20, .allocNs = 0, .freeNs = 400},
  };
  trace.counters = {{TrackId{1}, a, odd, {{-1, 0.1}, {-1, -1e300}, {5, 3}}}, {TrackId::none, odd, a, {}}};
  trace.losses = {{"records", 3}, {"\xff", 0}};
  return trace;
}

Trace manyEvents(int64_t count) {
  std::mt19937_64 random(3);
  Trace trace;
  trace.tracks = {{"one", TrackKind::observed, 0}, {"two", TrackKind::segments, 0}};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = static_cast<int64_t>(random() % 100'000), bytes = static_cast<int64_t>(512 * (random() % 100));
    trace.allocations.push_back({.track = static_cast<TrackId>(random() % 2),
                                 .bytes = bytes,
                                 .allocNs = from,
                                 .freeNs = random() % 10 == 0 ? kNever : from + static_cast<int64_t>(random() % 1000)});
  }
  return trace;
}

void expectSummaryAgrees(const TraceSummary& summary, const Trace& trace) {
  ASSERT_EQ(summary.tracks.size(), trace.tracks.size());
  for (size_t i = 0; i < trace.tracks.size(); ++i) {
    const MemoryCurve curve(trace, static_cast<TrackId>(i));
    EXPECT_EQ(summary.tracks[i].peak.bytes, curve.peak().bytes) << i;
    EXPECT_EQ(summary.tracks[i].peak.timeNs, curve.peak().timeNs) << i;
    EXPECT_EQ(summary.tracks[i].liveBytes, curve.bytesAt(kNever - 1)) << i;
  }
}

std::string errorOf(const std::string& path) {
  std::string error;
  try {
    readTrace(path);
  } catch (const InputError& e) {
    error = e.what();
  }
  EXPECT_THROW(summarize(path), InputError);
  EXPECT_THAT(error, StartsWith(path + ": "));
  EXPECT_EQ(error.find('\n'), std::string::npos);
  return error;
}

TEST_F(TraceFile, KeepsEverything) {
  const Trace trace = everything();
  writeTrace(trace, path());
  EXPECT_EQ(files(), 1u) << "nothing beside it";
  EXPECT_EQ(dump(readTrace(path())), dump(trace));
  EXPECT_EQ(files(), 1u) << "reading leaves nothing";
  const TraceSummary summary = summarize(path());
  expectSummaryAgrees(summary, trace);
  EXPECT_EQ(summary.events, 9);
  EXPECT_EQ(summary.spans, 3);
  EXPECT_EQ(summary.points, 3);
  EXPECT_EQ(summary.startNs, -50);
  EXPECT_EQ(summary.endNs, 1003);
  EXPECT_TRUE(summary.finished);
  EXPECT_EQ(summary.tracks[2].track.kind, TrackKind::segments);
  writeTrace(Trace{}, path());  // replaces the file that is there
  EXPECT_EQ(dump(readTrace(path())), dump(Trace{}));
  EXPECT_EQ(summarize(path()).endNs, 0);
}

TEST_F(TraceFile, ManyChunks) {
  Trace trace = manyEvents(200'000);
  for (int i = 0; i < 150'000; ++i) trace.spans.push_back({static_cast<TrackId>(i % 2), StringId::empty, i, 1});
  trace.counters.push_back({TrackId{0}, StringId::empty, StringId::empty, {}});
  for (int i = 0; i < 70'000; ++i) trace.counters[0].points.emplace_back(i, i);
  writeTrace(trace, path());
  EXPECT_EQ(dump(readTrace(path())), dump(trace));
  expectSummaryAgrees(summarize(path()), trace);
}

TEST_F(TraceFile, RecordedOutOfOrder) {
  const Trace trace = manyEvents(5'000);
  {
    TraceWriter writer(path());
    for (const Track& track : trace.tracks) writer.addTrack(track);
    for (size_t i = 0; i < trace.allocations.size(); ++i) {
      const AllocationId id = writer.addAllocation(trace.allocations[i]);
      if (trace.allocations[i].freeNs != kNever) writer.addFree(id, trace.allocations[i].freeNs);
      if (i % 777 == 0) writer.flush();  // makes chunks that overlap in time
    }
    EXPECT_TRUE(writer.finish());
    EXPECT_EQ(files(), 1u);
    EXPECT_THROW(writer.addMeta("a", "b"), InputError);
  }
  EXPECT_EQ(dump(readTrace(path())), dump(trace));
  expectSummaryAgrees(summarize(path()), trace);
}

TEST_F(TraceFile, KilledWriterLeavesWhatItFlushed) {
  const pid_t child = fork();
  if (child == 0) {
    TraceWriter writer(path());
    const TrackId track = writer.addTrack({"t", TrackKind::observed, 0});
    const Allocation allocation{.track = track, .name = writer.addString("x"), .bytes = 100, .allocNs = 1};
    const AllocationId first = writer.addAllocation(allocation);
    writer.addAllocation(allocation);
    writer.addFree(first, 5);
    writer.flush();
    writer.addAllocation({.track = track, .name = writer.addString("lost"), .bytes = 7, .allocNs = 6});
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  const Trace trace = readTrace(path());
  ASSERT_EQ(trace.allocations.size(), 2u);
  EXPECT_EQ(trace.allocations[0].freeNs, 5);
  EXPECT_EQ(trace.allocations[1].freeNs, kNever) << "still alive";
  EXPECT_EQ(trace.strings.size(), 2u);
  const TraceSummary summary = summarize(path());
  EXPECT_FALSE(summary.finished);
  EXPECT_EQ(summary.tracks[0].peak.bytes, 200);
  EXPECT_EQ(summary.tracks[0].liveBytes, 100);
}

TEST_F(TraceFile, ReadWhileWritten) {
  TraceWriter writer(path());
  EXPECT_EQ(dump(readTrace(path())), dump(Trace{}));
  const TrackId track = writer.addTrack({"t", TrackKind::observed, 0});
  for (int64_t i = 0; i < 70'000; ++i) {
    writer.addAllocation({.track = track, .bytes = 1, .allocNs = i});
    if (i % 20'000 != 0) continue;
    writer.flush();
    EXPECT_EQ(std::ssize(readTrace(path()).allocations), i + 1);
    EXPECT_EQ(summarize(path()).tracks[0].peak.bytes, i + 1);
  }
  sqlite::Database reader = sqlite::Database::openToRead(path());
  EXPECT_EQ(reader.integer("SELECT count(*) FROM tracks"), 1);
  EXPECT_FALSE(writer.finish()) << "somebody reads";
  EXPECT_EQ(readTrace(path()).allocations.size(), 70'000u);
}

TEST_F(TraceFile, IdleWriterFlushes) {
  TraceWriter writer(path());
  writer.addTrack({"t", TrackKind::observed, 0});
  EXPECT_EQ(readTrace(path()).tracks.size(), 0u);
  usleep(300'000);
  writer.flushIfDue();
  EXPECT_EQ(readTrace(path()).tracks.size(), 1u);
}

TEST_F(TraceFile, ForkedChildLeavesItAlone) {
  TraceWriter writer(path());
  writer.addTrack({"t", TrackKind::observed, 0});
  const pid_t child = fork();
  if (child == 0) {
    { const TraceWriter inherited = std::move(writer); }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(writer.finish());
  EXPECT_TRUE(summarize(path()).finished);
}

TEST_F(TraceFile, WriterRefusesWhatATraceCannotHold) {
  TraceWriter writer(path());
  const TrackId track = writer.addTrack({"t", TrackKind::observed, 0});
  EXPECT_THROW(writer.addAllocation({.track = TrackId{1}}), InputError);
  EXPECT_THROW(writer.addAllocation({.track = track, .name = StringId{9}}), InputError);
  EXPECT_THROW(writer.addAllocation({.track = track, .bytes = -1}), InputError);
  EXPECT_THROW(writer.addAllocation({.track = track, .allocNs = kNever}), InputError);
  EXPECT_THROW(writer.addSpan({track, StringId::empty, 0, -1}), InputError);
  EXPECT_THROW(writer.addStack({{StringId{5}, StringId{0}, 1}}), InputError);
  const AllocationId id = writer.addAllocation({.track = track, .bytes = 1, .allocNs = 5});
  EXPECT_THROW(writer.addFree(id, 4), InputError);
  writer.addFree(id, 5);
  EXPECT_THROW(writer.addFree(id, 6), InputError) << "once";
  EXPECT_THROW(writer.addFree(AllocationId{77}, 6), InputError);
  const CounterId counter = writer.addCounter(track, StringId::empty, StringId::empty);
  writer.addPoint(counter, 5, 1);
  EXPECT_THROW(writer.addPoint(counter, 4, 1), InputError);
  EXPECT_THROW(writer.addPoint(counter, 6, std::numeric_limits<double>::quiet_NaN()), InputError);
  EXPECT_TRUE(writer.finish()) << "what was refused harms nothing";
  EXPECT_EQ(readTrace(path()).allocations.size(), 1u);
}

TEST_F(TraceFile, FailedWritesLeaveNothing) {
  Trace trace;
  trace.spans.push_back({TrackId{4}, StringId::empty, 0, 0});
  EXPECT_THROW(writeTrace(trace, path()), InputError);
  EXPECT_EQ(files(), 0u);
  EXPECT_THROW(writeTrace(Trace{}, path("no/such/folder")), InputError);
  EXPECT_THROW(TraceWriter{path(".")}, InputError);
}

TEST_F(TraceFile, ForeignFilesAreRefused) {
  EXPECT_THAT(errorOf(path()), HasSubstr("No such file"));
  EXPECT_THAT(errorOf(path(".")), HasSubstr("not a regular file"));
  setBytes(path(), "");
  EXPECT_THAT(errorOf(path()), HasSubstr("not a trace file"));
  setBytes(path(), std::string(5000, 'x'));
  EXPECT_THAT(errorOf(path()), HasSubstr("not a database"));
  setBytes(path(), "");
  sqlite::Database::create(path()).execute("CREATE TABLE chunks(id INTEGER PRIMARY KEY)");
  EXPECT_THAT(errorOf(path()), HasSubstr("not a trace file"));
}

TEST_F(TraceFile, NewerMajorVersionsAndOtherTablesAreRefused) {
  writeTrace(everything(), path());
  const std::string good = bytesOf(path());
  std::string newer = good;
  newer.replace(60, 4, std::string("\0\0\x07\xd0", 4));  // the database's user_version, 2000
  setBytes(path(), newer);
  EXPECT_THAT(errorOf(path()), HasSubstr("has format 2.0, this program reads up to 1.x"));
  newer.replace(60, 4, std::string("\0\0\x03\xef", 4));
  setBytes(path(), newer);
  EXPECT_EQ(dump(readTrace(path())), dump(everything())) << "1.7 is readable";
  std::string other = good;
  other.replace(other.find("text TEXT NOT NULL"), 4, "name");
  setBytes(path(), other);
  EXPECT_THAT(errorOf(path()), HasSubstr("table strings: is not defined as"));
}

/// Expects that a damaged file is refused, or that the damage changed nothing that matters.
void expectRefusedOrSame(const std::string& path, const std::string& wanted, size_t at) {
  try {
    EXPECT_EQ(dump(readTrace(path)), wanted) << at;
  } catch (const InputError& error) {
    EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
  }
  try {
    summarize(path);
  } catch (const InputError&) {
  }
}

TEST_F(TraceFile, FlippedBitsAreNoticed) {
  writeTrace(everything(), path("good"));
  const std::string good = bytesOf(path("good")), wanted = dump(everything());
  for (size_t at = 0; at < good.size(); ++at) {
    if (at % 4096 > 128 && good[at] == 0 && at % 509 != 0) continue;  // most of a page is zeros that are not used
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << (at % 8)));
    setBytes(path(), bad);
    expectRefusedOrSame(path(), wanted, at);
  }
}

TEST_F(TraceFile, FlippedBitsOfALargerFileAreNoticed) {
  const Trace trace = manyEvents(20'000);
  writeTrace(trace, path("good"));
  const std::string good = bytesOf(path("good")), wanted = dump(trace);
  std::mt19937_64 random(1);
  for (int i = 0; i < 60; ++i) {
    std::string bad = good;
    const size_t at = random() % bad.size();
    bad[at] = static_cast<char>(bad[at] ^ (1 << (random() % 8)));
    setBytes(path(), bad);
    expectRefusedOrSame(path(), wanted, at);
  }
}

TEST_F(TraceFile, TruncatedFilesAreRefused) {
  writeTrace(everything(), path("good"));
  const std::string good = bytesOf(path("good"));
  for (size_t size = 1; size < good.size(); size += size < 200 ? 1 : 509) {
    setBytes(path(), good.substr(0, size));
    errorOf(path());
  }
}

}  // namespace
}  // namespace moeblaze
