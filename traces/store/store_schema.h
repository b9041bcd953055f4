#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"
#include "traces/store/columns.h"

/// What writer and reader of trace files share.
namespace moeblaze::store {

inline constexpr int64_t kApplicationId = 0x4D42'5452;  ///< "MBTR"
inline constexpr int64_t kMajor = 1, kMinor = 0, kMajorFactor = 1000;
inline constexpr int64_t kZstdCodec = 1;

/// What a file may hold; the same for writing and reading.
inline constexpr int64_t kMaxTraceRows = int64_t{1} << 26;   ///< allocations; spans; points
inline constexpr int64_t kMaxTimeNs = int64_t{1} << 61;      ///< either sign: 73 years, so differences fit
inline constexpr int64_t kMaxBytes = int64_t{1} << 48;       ///< of an allocation
inline constexpr int64_t kMaxTotalBytes = int64_t{1} << 61;  ///< of a track's allocations together
inline constexpr uint64_t kMaxRowsPerByte = 512;             ///< of the file; a chunk of equal rows has fewer
inline constexpr size_t kMaxTextBytes = size_t{8} << 20;
inline constexpr size_t kMaxTracks = size_t{1} << 16;  ///< devices and counters too
inline constexpr int32_t kMaxValueBytes = 16 << 20;    ///< a chunk cannot be longer, nor a text

enum class Table : uint8_t { meta, devices, tracks, strings, frames, stacks, counters, losses, chunks };
inline constexpr size_t kTables = 9;

/// A table's columns: i integer, t text, b blob, d a blob that is not part of the table's checksum because its own is.
struct TableSpec {
  std::string_view name;
  std::vector<std::string_view> columns;
  std::string_view types;
};
const TableSpec& spec(Table table);
/// Its CREATE TABLE; a file must have exactly this text.
std::string createSql(const TableSpec& table);
std::string insertSql(const TableSpec& table);
/// All rows in order, without columns of type d.
std::string selectSql(const TableSpec& table);
/// Checksums of the other tables.
const TableSpec& sumsSpec();

/// Number of rows and CRC-32 of their values: integers as 8 bytes, texts and blobs as their length and bytes.
class RowSum {
 public:
  RowSum() = default;
  RowSum(int64_t rows, uint32_t crc) : rows_(rows), crc_(crc) {}
  void put(int64_t value);
  void put(std::string_view bytes);
  /// Ends a row.
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

/// A row of the chunk index. Bytes are relative to the chunk's start: chunks may be written out of time order, and
/// sums over the index give the absolute ones.
struct ChunkInfo {
  ChunkKind kind = ChunkKind::memory;
  int64_t owner = 0;  ///< track, or counter of points
  int64_t startNs = 0, endNs = 0;
  int64_t rows = 0, frees = 0;
  int64_t netBytes = 0;  ///< allocated less freed
  int64_t maxBytes = 0;  ///< most above the start, at the end of an instant
  int64_t maxNs = 0;     ///< the first such instant
  uint32_t crc = 0;      ///< of the packed data
};

/// A change of a track's bytes.
struct Delta {
  int64_t timeNs = 0;
  int64_t bytes = 0;
};
/// Adds what `rows` change to deltas that ascend in time, and stay so.
void addDeltas(const MemoryRows& rows, std::vector<Delta>& deltas);
/// Sets the bytes of `chunk` from deltas that ascend in time; nothing changes without any.
void setCurve(ChunkInfo& chunk, std::span<const Delta> deltas);

/// How many of what ids may refer to.
struct Counts {
  size_t tracks = 0, strings = 0, stacks = 0;
};

/// Refuse what a trace cannot hold, naming `source`.
void checkId(const std::string& source, const char* what, int64_t id, size_t count);
void checkTime(const std::string& source, const char* what, int64_t timeNs);
void checkAllocation(const std::string& source, const Allocation& allocation, const Counts& counts);
void checkFree(const std::string& source, int64_t allocNs, const FreeRow& row);
void checkSpan(const std::string& source, const Span& span, const Counts& counts);
void checkPoint(const std::string& source, const PointRow& point, const PointRow* before);

/// Adds `count` to the loss of that text.
void addLoss(const std::string& source, std::vector<Loss>& losses, std::string_view what, int64_t count);

}  // namespace moeblaze::store
