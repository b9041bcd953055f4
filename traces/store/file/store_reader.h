#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/formats/sqlite.h"
#include "traces/store/file/store_schema.h"

namespace moeblaze::store {

/// Reads one consistent state of a trace file, also while the file grows. It trusts nothing in the file: every call
/// throws InputError where the file is damaged or beyond a limit.
class StoreReader {
 public:
  /// Throws InputError for files of other kinds and of other major versions.
  explicit StoreReader(const std::string& path);

  /// Calls `onRow(statement)` for every row of `table`; column 0 is the row's id. After the last row it throws
  /// InputError when the table does not match its checksum.
  template <typename OnRow>
  void read(Table table, OnRow onRow) {
    sqlite::Statement statement = database_.prepare(selectSql(spec(table)));
    RowSum sum;
    while (statement.step()) {
      addRow(statement, table, sum);
      onRow(statement);
    }
    checkSum(table, sum);
  }
  std::vector<Track> readTracks();
  /// Reads the chunk index of a file with that many tracks and counters.
  std::vector<ChunkInfo> readIndex(size_t tracks, size_t counters);

  /// Decompresses the columns of a chunk, which must be `bytes` long. The result lasts until the next call.
  std::string_view unpack(size_t chunk, const ChunkInfo& info, size_t bytes);
  void unpack(size_t chunk, const ChunkInfo& info, MemoryRows& rows);
  /// Fills in only the times and bytes of the rows.
  void unpackCurve(size_t chunk, const ChunkInfo& info, MemoryRows& rows);
  const std::string& path() const { return database_.path(); }
  /// How an error names a chunk.
  std::string sourceOf(size_t chunk) const;

 private:
  std::string_view unpackMemory(size_t chunk, const ChunkInfo& info, MemoryRows& rows);
  void checkHeader();
  void checkTables();
  void readSums();
  void measure();
  void addRow(const sqlite::Statement& statement, Table table, RowSum& sum);
  void checkSum(Table table, const RowSum& sum) const;
  void spend(size_t bytes);

  sqlite::Database database_;
  std::optional<sqlite::Transaction> transaction_;
  std::optional<sqlite::Statement> data_;
  std::array<RowSum, kTables> sums_;  ///< what the file states
  uint64_t fileBytes_ = 0;
  /// The file's bytes less those of the values read. No value is stored twice, so all values together fit into the
  /// file.
  uint64_t bytesLeft_ = 0;
  Zstd zstd_;
};

}  // namespace moeblaze::store
