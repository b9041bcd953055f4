#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/sqlite.h"
#include "traces/store/store_schema.h"

namespace moeblaze::store {

/// How a file is written.
enum class Mode : uint8_t {
  recording,  ///< safe against being killed, readable meanwhile
  whole,      ///< fast; what a failure leaves is for the caller to remove
};

/// The file a TraceWriter fills: rows of the tables, their checksums, transactions. Rows are only ever added.
class StoreFile {
 public:
  /// Errors call the file `shownPath`.
  StoreFile(const std::string& path, const std::string& shownPath, Mode mode);

  /// Adds a row to `table`, ids counting up. Returns its id.
  template <typename... Values>
  int64_t insert(Table table, const Values&... values) {
    return insertRow(table, sqlite::Blob{}, false, values...);
  }
  /// Packs and adds a chunk; its crc is set here.
  void insertChunk(ChunkInfo chunk, std::string_view columns);
  /// Makes all rows so far durable.
  void commit();
  /// Makes the file whole by itself; false while another program has it open.
  bool finish();
  /// Refuses when an earlier write failed or the file is finished.
  void expectUsable() const;

 private:
  template <typename... Values>
  int64_t insertRow(Table table, sqlite::Blob data, bool hasData, const Values&... values) {
    expectUsable();
    state_ = State::broken;  // until this succeeds: half a write must not be committed
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
  std::vector<sqlite::Statement> inserts_;  ///< by Table, then the sums'
  std::array<RowSum, kTables> sums_, committedSums_;
  std::optional<sqlite::Transaction> transaction_;
  Zstd zstd_;
};

}  // namespace moeblaze::store
