#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/sqlite.h"
#include "traces/store/file/store_schema.h"

namespace moeblaze::store {

/// How a trace file is written.
enum class Mode : uint8_t {
  recording,  ///< survives a kill of the program, and others can read it meanwhile
  whole,      ///< fast; after a failure the caller must remove the file
};

/// A trace file that is being written: rows of its tables, their checksums, and transactions. Rows are only ever added.
/// Every call throws InputError when a write fails.
class StoreFile {
 public:
  /// Creates the file at `path`; errors call it `shownPath`.
  StoreFile(const std::string& path, const std::string& shownPath, Mode mode);

  /// Adds a row to `table` and returns its id; ids count up from 0.
  template <typename... Values>
  int64_t insert(Table table, const Values&... values) {
    return insertRow(table, sqlite::Blob{}, false, values...);
  }
  /// Compresses the columns of a chunk and adds it. The chunk's crc is set here.
  void insertChunk(ChunkInfo chunk, std::string_view columns);
  /// Makes all rows so far safe and readable.
  void commit();
  /// Commits and moves everything into the one file. Returns false while another program has it open: then its log
  /// stays beside it.
  bool finish();
  /// Throws InputError when an earlier write failed or the file is finished.
  void expectUsable() const;

 private:
  template <typename... Values>
  int64_t insertRow(Table table, sqlite::Blob data, bool hasData, const Values&... values) {
    expectUsable();
    state_ = State::broken;  // stays so unless this succeeds: half a row must not be committed
    begin();
    const size_t at = static_cast<size_t>(table);
    RowSum& sum = sums_[at];
    const int64_t id = sum.rows();
    if (hasData)
      inserts_[at].run(id, values..., data);
    else
      inserts_[at].run(id, values...);
    sum.put(id);
    (put(sum, values), ...);
    sum.endRow();
    state_ = State::usable;
    return id;
  }
  template <std::integral Value>
  static void put(RowSum& sum, Value value) {
    sum.put(static_cast<int64_t>(value));
  }
  static void put(RowSum& sum, std::string_view text) { sum.put(text); }
  static void put(RowSum& sum, sqlite::Blob blob) { sum.put(blob.bytes); }
  void createTables();
  void begin();
  void writeSums();

  enum class State : uint8_t { usable, broken, finished };

  sqlite::Database database_;
  Mode mode_;
  State state_ = State::usable;
  std::vector<sqlite::Statement> inserts_;  ///< one for each Table, then one for the table of checksums
  std::array<RowSum, kTables> sums_, committedSums_;
  std::optional<sqlite::Transaction> transaction_;
  Zstd zstd_;
};

/// Moves what the log beside a database holds into the database. Returns false while another program has it open.
bool leaveLog(sqlite::Database& database);

}  // namespace moeblaze::store
