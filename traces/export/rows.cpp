#include "traces/export/rows.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"
#include "traces/formats/sqlite.h"

namespace moeblaze {
namespace {

constexpr const char* kSchema = R"(
CREATE TABLE meta (key TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE devices (id INTEGER NOT NULL, name TEXT NOT NULL, memory_bytes INTEGER);
CREATE TABLE tracks (id INTEGER PRIMARY KEY, name TEXT NOT NULL, kind TEXT NOT NULL, device INTEGER NOT NULL);
CREATE TABLE spans (track INTEGER, name TEXT NOT NULL, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
                    step INTEGER);
CREATE TABLE allocations (id INTEGER PRIMARY KEY, track INTEGER, name TEXT NOT NULL, role TEXT NOT NULL,
                          older INTEGER NOT NULL, bytes INTEGER NOT NULL, requested_bytes INTEGER,
                          alloc_ns INTEGER NOT NULL, free_ns INTEGER, free_requested_ns INTEGER, step INTEGER,
                          stack INTEGER, address INTEGER, stream INTEGER NOT NULL);
CREATE TABLE stacks (id INTEGER NOT NULL, depth INTEGER NOT NULL, function TEXT NOT NULL, file TEXT NOT NULL,
                     line INTEGER NOT NULL, PRIMARY KEY (id, depth));
CREATE TABLE counters (id INTEGER PRIMARY KEY, track INTEGER, name TEXT NOT NULL, unit TEXT NOT NULL);
CREATE TABLE counter_points (counter INTEGER NOT NULL, time_ns INTEGER NOT NULL, value REAL);
CREATE TABLE losses (what TEXT NOT NULL, count INTEGER NOT NULL);
)";

/// Created after all rows, because filling a table that has an index is slower.
constexpr const char* kIndexes = R"(
CREATE INDEX allocations_by_time ON allocations (track, alloc_ns);
CREATE INDEX spans_by_time ON spans (track, start_ns);
CREATE INDEX counter_points_by_time ON counter_points (counter, time_ns);
)";

class RowsExport {
 public:
  RowsExport(const Trace& trace, sqlite::Database& database) : trace_(trace), database_(database) {}

  void write() {
    sqlite::Transaction transaction(database_);
    database_.execute(kSchema);
    writeSmall();
    writeSpans();
    writeAllocations();
    writeStacks();
    writeCounters();
    database_.execute(kIndexes);
    transaction.commit();
  }

 private:
  void writeSmall() {
    auto meta = database_.prepare("INSERT INTO meta VALUES (?1, ?2)");
    for (const auto& [key, value] : trace_.meta) meta.run(std::string_view(key), std::string_view(value));
    auto devices = database_.prepare("INSERT INTO devices VALUES (?1, ?2, NULLIF(?3, 0))");
    for (const Device& d : trace_.devices) devices.run(d.id, std::string_view(d.name), d.memoryBytes);
    auto tracks = database_.prepare("INSERT INTO tracks VALUES (?1, ?2, ?3, ?4)");
    for (size_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      tracks.run(i, std::string_view(track.name), name(track.kind), track.device);
    }
    auto losses = database_.prepare("INSERT INTO losses VALUES (?1, ?2)");
    for (const Loss& loss : trace_.losses) losses.run(std::string_view(loss.what), loss.count);
  }

  void writeSpans() {
    auto insert = database_.prepare("INSERT INTO spans VALUES (NULLIF(?1, -1), ?2, ?3, ?4, NULLIF(?5, -1))");
    for (const Span& span : trace_.spans)
      insert.run(number(span.track), text(span.name), span.startNs, span.durationNs, number(span.step));
  }

  void writeAllocations() {
    // NULLIF with 2^63 - 1 stores kNever as NULL.
    auto insert = database_.prepare(
        "INSERT INTO allocations VALUES (?1, NULLIF(?2, -1), ?3, ?4, ?5, ?6, NULLIF(?7, 0), ?8,"
        " NULLIF(?9, 9223372036854775807), NULLIF(?10, 9223372036854775807), NULLIF(?11, -1), NULLIF(?12, 0),"
        " NULLIF(?13, 0), ?14)");
    static_assert(kNever == 9223372036854775807);
    for (size_t i = 0; i < trace_.allocations.size(); ++i) {
      const Allocation& a = trace_.allocations[i];
      insert.run(i, number(a.track), text(a.name), name(a.role), a.older, a.bytes, a.requestedBytes, a.allocNs,
                 a.freeNs, a.freeRequestedNs, number(a.step), index(a.stack), a.address, a.stream);
    }
  }

  void writeStacks() {
    auto insert = database_.prepare("INSERT INTO stacks VALUES (?1, ?2, ?3, ?4, ?5)");
    for (size_t id = 0; id < trace_.stacks.size(); ++id) {
      size_t depth = 0;
      for (const Frame& frame : trace_.stacks[static_cast<StackId>(id)])
        insert.run(id, depth++, text(frame.function), text(frame.file), frame.line);
    }
  }

  void writeCounters() {
    auto counters = database_.prepare("INSERT INTO counters VALUES (?1, NULLIF(?2, -1), ?3, ?4)");
    auto points = database_.prepare("INSERT INTO counter_points VALUES (?1, ?2, ?3)");
    for (size_t i = 0; i < trace_.counters.size(); ++i) {
      const Counter& counter = trace_.counters[i];
      counters.run(i, number(counter.track), text(counter.name), text(counter.unit));
      for (const auto& [timeNs, value] : counter.points) points.run(i, timeNs, value);
    }
  }

  template <typename Id>
  static int64_t number(Id id) {
    return static_cast<int64_t>(id);
  }
  std::string_view text(StringId id) const { return trace_.strings[id]; }

  const Trace& trace_;
  sqlite::Database& database_;
};

/// A temporary file beside `path`, removed at the end unless it was renamed.
class Temporary {
 public:
  explicit Temporary(const std::string& path) : path_(fmt::format("{}.{}.tmp", path, getpid())) {}
  ~Temporary() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

void exportRows(const Trace& trace, const std::string& path) {
  const Temporary temporary(path);
  try {
    sqlite::Database database = sqlite::Database::create(temporary.path());
    // No other program sees the file before it is complete, so it needs neither a journal nor synchronous writes.
    database.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    RowsExport(trace, database).write();
  } catch (const InputError& error) {
    // The error names the temporary file, but the user named `path`.
    const std::string_view what = error.what();
    refuse(path, "cannot be written: {}", what.substr(std::min(what.size(), temporary.path().size() + 2)));
  }
  std::error_code error;
  std::filesystem::rename(temporary.path(), path, error);
  if (error) refuse(path, "cannot be written: {}", error.message());
}

}  // namespace moeblaze
