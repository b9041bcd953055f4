#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "core/trace/trace_limits.h"
#include "traces/store/file/columns.h"

/// What the writer and the reader of trace files share.
namespace moeblaze::store {

inline constexpr int64_t kApplicationId = 0x4D42'5452;  ///< "MBTR"
/// The format's version; `user_version` of the database is major * kMajorFactor + minor.
inline constexpr int64_t kMajor = 1, kMinor = 0, kMajorFactor = 1000;
inline constexpr int64_t kZstdCodec = 1;

/// Most rows for each byte of a file. Even a chunk of equal rows, which compresses best, has fewer.
inline constexpr uint64_t kMaxRowsPerByte = 512;
/// Longest value that SQLite may return. Neither a chunk nor a text within its limit can be longer.
inline constexpr int32_t kMaxValueBytes = 16 << 20;

enum class Table : uint8_t { meta, devices, tracks, strings, frames, stacks, counters, losses, chunks };
inline constexpr size_t kTables = 9;

/// One table of a trace file. `types` has a letter for each column: i for an integer, t for a text, b for a blob, and d
/// for a blob that the table's checksum leaves out because it has a checksum of its own.
struct TableSpec {
  std::string_view name;
  std::vector<std::string_view> columns;
  std::string_view types;
};
const TableSpec& spec(Table table);
/// The CREATE TABLE statement of a table; a file must have exactly this text.
std::string createSql(const TableSpec& table);
std::string insertSql(const TableSpec& table);
/// Selects all rows by ascending id, without columns of type d.
std::string selectSql(const TableSpec& table);
/// The table that holds the checksums of the other tables.
const TableSpec& sumsSpec();

/// Counts the rows of a table and sums up their values as CRC-32: integers as 8 bytes, texts and blobs as their length
/// and their bytes.
class RowSum {
 public:
  RowSum() = default;
  RowSum(int64_t rows, uint32_t crc) : rows_(rows), crc_(crc) {}
  void put(int64_t value);
  void put(std::string_view bytes);
  void endRow();
  int64_t rows() const { return rows_; }
  uint32_t crc() const { return crc_; }
  bool operator==(const RowSum& other) const { return rows_ == other.rows_ && crc_ == other.crc_; }

 private:
  int64_t rows_ = 0;
  uint32_t crc_ = 0;
  std::string row_;
};

enum class ChunkKind : int64_t { memory, spans, points, end };

/// A row of the chunk index. Its bytes are relative to those at the chunk's start, because chunks may be written out of
/// time order; sums over the index give absolute bytes.
struct ChunkInfo {
  ChunkKind kind = ChunkKind::memory;
  int64_t owner = 0;  ///< the track, or for points the counter
  int64_t startNs = 0, endNs = 0;
  int64_t rows = 0, frees = 0;
  int64_t netBytes = 0;  ///< bytes allocated less bytes freed
  int64_t maxBytes = 0;  ///< most bytes above those at the chunk's start, counted after all changes of an instant
  int64_t maxNs = 0;     ///< the first instant with maxBytes
  uint32_t crc = 0;      ///< CRC-32 of the compressed data
};

/// By how much the bytes of a track change at an instant.
struct Delta {
  int64_t timeNs = 0;
  int64_t bytes = 0;
};
/// Adds the changes that `rows` make to `deltas`, which ascend in time before and after.
void addDeltas(const MemoryRows& rows, std::vector<Delta>& deltas);
/// Sets netBytes, maxBytes and maxNs of `chunk` from deltas that ascend in time. Without deltas, maxBytes and maxNs
/// stay as they are.
void setCurve(ChunkInfo& chunk, std::span<const Delta> deltas);

/// Adds `count` to the loss `what`. Throws InputError naming `source` when there are too many losses or the count is
/// negative or too large.
void addLoss(const std::string& source, std::vector<Loss>& losses, std::string_view what, int64_t count);

}  // namespace moeblaze::store
