#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "traces/formats/sqlite.h"
#include "traces/store/store_schema.h"

namespace moeblaze::store {

/// A trace file opened to read: one consistent state of it, of which nothing is trusted.
class StoreReader {
 public:
  /// Refuses files of other kinds and of newer major versions.
  explicit StoreReader(const std::string& path);

  /// Calls `onRow(statement)` for every row of `table`; column 0 is the row's number. Refuses a table that does not
  /// match its checksum, after its last row.
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
  /// The chunk index of a file with that many tracks and counters.
  std::vector<ChunkInfo> readIndex(size_t tracks, size_t counters);

  /// Unpacks a chunk's columns: `rowBytes` long. Lasts until the next call.
  std::string_view unpack(size_t chunk, const ChunkInfo& info, size_t rowBytes);
  void unpack(size_t chunk, const ChunkInfo& info, MemoryRows& rows);
  /// Only times and bytes.
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
  std::array<RowSum, kTables> sums_;
  uint64_t fileBytes_ = 0;
  uint64_t bytesLeft_ = 0;  ///< no value is stored twice, so all together fit into the file
  Zstd zstd_;
};

}  // namespace moeblaze::store
