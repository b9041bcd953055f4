#include "traces/store/file/store_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"

namespace moeblaze::store {
namespace {

ChunkInfo chunkInfo(const sqlite::Statement& row) {
  ChunkInfo chunk;
  chunk.kind = static_cast<ChunkKind>(row.integer(1));
  chunk.owner = row.integer(2);
  chunk.startNs = row.integer(3);
  chunk.endNs = row.integer(4);
  chunk.rows = row.integer(5);
  chunk.frees = row.integer(6);
  chunk.netBytes = row.integer(7);
  chunk.maxBytes = row.integer(8);
  chunk.maxNs = row.integer(9);
  chunk.crc = static_cast<uint32_t>(row.integer(11));
  return chunk;
}

void checkChunk(const std::string& source, const ChunkInfo& chunk, int64_t codec, size_t tracks, size_t counters) {
  if (codec != kZstdCodec) refuse(source, "codec {}, must be {}", codec, kZstdCodec);
  checkId(source, "owner", chunk.owner, chunk.kind == ChunkKind::points ? counters : tracks);
  checkTime(source, "start", chunk.startNs);
  checkTime(source, "end", chunk.endNs);
  checkTime(source, "peak", chunk.maxNs);
  if (chunk.endNs < chunk.startNs) refuse(source, "ends at {} ns, before it starts at {}", chunk.endNs, chunk.startNs);
  const auto isCount = [](int64_t number) { return number >= 0 && number <= int64_t{kMaxChunkRows}; };
  const bool mayHaveFrees = chunk.kind == ChunkKind::memory;
  if (!isCount(chunk.rows) || !isCount(chunk.frees) || (chunk.frees > 0 && !mayHaveFrees) ||
      chunk.rows + chunk.frees == 0 || !isCount(chunk.rows + chunk.frees))
    refuse(source, "{} rows and {} frees, must be 1 to {} together", chunk.rows, chunk.frees, kMaxChunkRows);
  for (int64_t bytes : {chunk.netBytes, chunk.maxBytes})
    if (bytes < -kMaxTrackBytes || bytes > kMaxTrackBytes)
      refuse(source, "{} bytes, must be within {}", bytes, kMaxTrackBytes);
}

}  // namespace

StoreReader::StoreReader(const std::string& path)
    : database_(sqlite::Database::openToRead(path, {.valueBytes = kMaxValueBytes})) {
  transaction_.emplace(database_);
  checkHeader();
  measure();
  checkTables();
  readSums();
  data_.emplace(database_.prepare("SELECT data FROM chunks WHERE id=?"));
}

void StoreReader::checkHeader() {
  if (database_.integer("PRAGMA application_id") != kApplicationId)
    refuse(path(), "is an SQLite database, but not a trace file (.mbtrace)");
  const int64_t version = database_.integer("PRAGMA user_version");
  const int64_t major = version / kMajorFactor;
  if (major > kMajor)
    refuse(path(), "has format {}.{}, this program reads up to {}.x: use a newer one", major, version % kMajorFactor,
           kMajor);
  if (major != kMajor) refuse(path(), "has format version {}, must be {} or more", version, kMajor * kMajorFactor);
}

void StoreReader::measure() {
  std::error_code error;
  for (const char* suffix : {"", "-wal"}) {
    const auto size = std::filesystem::file_size(path() + suffix, error);
    if (!error) fileBytes_ += size;
  }
  bytesLeft_ = fileBytes_;
}

void StoreReader::checkTables() {
  size_t found = 0;
  sqlite::Statement schema = database_.prepare("SELECT type,name,sql FROM sqlite_schema WHERE tbl_name=?");
  for (size_t i = 0; i <= kTables; ++i) {
    const TableSpec& table = i < kTables ? spec(static_cast<Table>(i)) : sumsSpec();
    // Only the exact text is allowed, so there are no views, indices, triggers or computed columns.
    for (schema.bind(table.name); schema.step(); ++found)
      if (schema.isNull(2) || schema.text(2) != createSql(table))
        refuse(path(), "table {}: is not defined as {}", table.name, quote(createSql(table)));
    if (found != i + 1) refuse(path(), "table {}: must exist once", table.name);
  }
}

void StoreReader::readSums() {
  sqlite::Statement row = database_.prepare(selectSql(sumsSpec()));
  size_t at = 0;
  for (; row.step(); ++at) {
    if (at == kTables || row.integer(0) != static_cast<int64_t>(at) || row.text(1) != spec(static_cast<Table>(at)).name)
      refuse(path(), "table sums: row {} is not that of a table", at);
    sums_[at] = RowSum(row.integer(2), static_cast<uint32_t>(row.integer(3)));
  }
  if (at != kTables) refuse(path(), "table sums: has {} rows, must have {}", at, kTables);
}

void StoreReader::spend(size_t bytes) {
  if (bytes > bytesLeft_) refuse(path(), "is damaged: its values are larger than the file");
  bytesLeft_ -= bytes;
}

void StoreReader::addRow(const sqlite::Statement& row, Table table, RowSum& sum) {
  const TableSpec& columns = spec(table);
  // Ids must count up without gaps. This also stops at a damaged B-tree that leads to the same rows again and again.
  if (row.integer(0) != sum.rows()) refuse(path(), "table {}: row {} is missing", columns.name, sum.rows());
  for (int c = 0; c < row.columns(); ++c) {
    const char type = columns.types[static_cast<size_t>(c)];
    if (type == 'i') {
      sum.put(row.integer(c));
      continue;
    }
    const std::string_view value = type == 't' ? row.text(c) : row.blob(c);
    spend(value.size());
    sum.put(value);
  }
  sum.endRow();
}

void StoreReader::checkSum(Table table, const RowSum& sum) const {
  if (!(sum == sums_[static_cast<size_t>(table)]))
    refuse(path(), "table {}: is damaged: its checksum does not match", spec(table).name);
}

std::vector<Track> StoreReader::readTracks() {
  std::vector<Track> tracks;
  read(Table::tracks, [&](const sqlite::Statement& row) {
    checkId(path(), "track number", std::ssize(tracks), kMaxTracks);
    const int64_t kind = row.integer(2), device = row.integer(3);
    checkId(path(), "track: kind", kind, static_cast<size_t>(TrackKind::segments) + 1);
    if (device != static_cast<int32_t>(device)) refuse(path(), "track: device {}, must have 32 bits", device);
    tracks.push_back({std::string(row.text(1)), static_cast<TrackKind>(kind), static_cast<int32_t>(device)});
  });
  return tracks;
}

std::vector<ChunkInfo> StoreReader::readIndex(size_t tracks, size_t counters) {
  std::vector<ChunkInfo> chunks;
  std::array<int64_t, 3> rows{};
  read(Table::chunks, [&](const sqlite::Statement& row) {
    const std::string source = sourceOf(chunks.size());
    if (!chunks.empty() && chunks.back().kind == ChunkKind::end) refuse(source, "must not follow the end");
    const ChunkInfo& chunk = chunks.emplace_back(chunkInfo(row));
    if (chunk.kind == ChunkKind::end) return;
    const size_t kind = static_cast<size_t>(chunk.kind);
    if (kind >= rows.size()) return;  // a kind of a newer minor version
    checkChunk(source, chunk, row.integer(10), tracks, counters);
    rows[kind] += chunk.rows;
    if (rows[kind] > kMaxTraceRows) refuse(source, "brings more than {} rows of its kind", kMaxTraceRows);
    if (static_cast<uint64_t>(rows[kind]) > fileBytes_ * kMaxRowsPerByte)
      refuse(source, "brings more rows than {} bytes can hold", fileBytes_);
  });
  return chunks;
}

std::string StoreReader::sourceOf(size_t chunk) const { return fmt::format("{}: chunk {}", path(), chunk); }

std::string_view StoreReader::unpack(size_t chunk, const ChunkInfo& info, size_t bytes) {
  data_->bind(chunk);
  const std::string source = sourceOf(chunk);
  if (!data_->step()) refuse(source, "is missing");
  const std::string_view packed = data_->blob(0);
  spend(packed.size());
  if (crc32(packed) != info.crc) refuse(source, "is damaged: its checksum does not match");
  const std::string_view columns = zstd_.unpack(source, packed, bytes);
  data_->reset();
  return columns;
}

std::string_view StoreReader::unpackMemory(size_t chunk, const ChunkInfo& info, MemoryRows& rows) {
  rows.allocations.resize(static_cast<size_t>(info.rows));
  rows.frees.resize(static_cast<size_t>(info.frees));
  return unpack(chunk, info, rows.allocations.size() * kAllocationRowBytes + rows.frees.size() * kFreeRowBytes);
}

void StoreReader::unpack(size_t chunk, const ChunkInfo& info, MemoryRows& rows) {
  const std::string_view columns = unpackMemory(chunk, info, rows);
  decode(sourceOf(chunk), columns, rows);
}

void StoreReader::unpackCurve(size_t chunk, const ChunkInfo& info, MemoryRows& rows) {
  const std::string_view columns = unpackMemory(chunk, info, rows);
  decodeCurve(sourceOf(chunk), columns, rows);
}

}  // namespace moeblaze::store
