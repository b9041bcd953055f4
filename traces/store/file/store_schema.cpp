#include "traces/store/file/store_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "core/base/error.h"

namespace moeblaze::store {

const TableSpec& spec(Table table) {
  static const std::array<TableSpec, kTables> kSpecs{{
      {"meta", {"id", "key", "value"}, "itt"},
      {"devices", {"id", "device", "name", "memory_bytes"}, "iiti"},
      {"tracks", {"id", "name", "kind", "device"}, "itii"},
      {"strings", {"id", "text"}, "it"},
      {"frames", {"id", "function", "file", "line"}, "iiii"},
      {"stacks", {"id", "frames"}, "ib"},
      {"counters", {"id", "track", "name", "unit"}, "iiii"},
      {"losses", {"id", "what", "count"}, "iti"},
      {"chunks",
       {"id", "kind", "owner", "start_ns", "end_ns", "rows", "frees", "net_bytes", "max_bytes", "max_ns", "codec",
        "crc32", "data"},
       "iiiiiiiiiiiid"},
  }};
  return kSpecs[static_cast<size_t>(table)];
}

const TableSpec& sumsSpec() {
  static const TableSpec kSums{"sums", {"id", "name", "rows", "crc32"}, "itii"};
  return kSums;
}

std::string createSql(const TableSpec& table) {
  std::string sql = fmt::format("CREATE TABLE {}(id INTEGER PRIMARY KEY", table.name);
  for (size_t c = 1; c < table.columns.size(); ++c) {
    const char type = table.types[c];
    sql += fmt::format(", {} {} NOT NULL", table.columns[c], type == 'i' ? "INTEGER" : type == 't' ? "TEXT" : "BLOB");
  }
  return sql + ")";
}

std::string insertSql(const TableSpec& table) {
  std::string sql = fmt::format("INSERT OR REPLACE INTO {} VALUES(?", table.name);
  for (size_t c = 1; c < table.columns.size(); ++c) sql += ",?";
  return sql + ")";
}

std::string selectSql(const TableSpec& table) {
  std::vector<std::string_view> columns;
  for (size_t c = 0; c < table.columns.size(); ++c)
    if (table.types[c] != 'd') columns.push_back(table.columns[c]);
  return fmt::format("SELECT {} FROM {} ORDER BY id", fmt::join(columns, ","), table.name);
}

void RowSum::put(int64_t value) {
  for (int byte = 0; byte < 8; ++byte) row_ += static_cast<char>(static_cast<uint64_t>(value) >> (8 * byte));
}

void RowSum::put(std::string_view bytes) {
  put(static_cast<int64_t>(bytes.size()));
  row_ += bytes;
}

void RowSum::endRow() {
  crc_ = crc32(row_, crc_);
  ++rows_;
  row_.clear();
}

namespace {

constexpr auto kEarlier = [](const Delta& a, const Delta& b) { return a.timeNs < b.timeNs; };

/// Merges the deltas from `middle` on, which may be in any order, into those from `begin` to `middle`, which ascend in
/// time. Both parts are mostly in order and hardly overlap, so this is faster than sorting all of them.
void mergeFrom(std::vector<Delta>& deltas, ptrdiff_t begin, ptrdiff_t middle) {
  const auto first = deltas.begin() + begin, added = deltas.begin() + middle;
  if (!std::is_sorted(added, deltas.end(), kEarlier)) std::sort(added, deltas.end(), kEarlier);
  if (added != deltas.end())
    std::inplace_merge(std::upper_bound(first, added, *added, kEarlier), added, deltas.end(), kEarlier);
}

}  // namespace

void addDeltas(const MemoryRows& rows, std::vector<Delta>& deltas) {
  const ptrdiff_t begin = std::ssize(deltas);
  for (const AllocationRow& row : rows.allocations) deltas.push_back({row.allocation.allocNs, row.allocation.bytes});
  mergeFrom(deltas, begin, begin);
  const ptrdiff_t middle = std::ssize(deltas);
  for (const FreeRow& row : rows.frees)
    if (row.freeNs != kNever) deltas.push_back({row.freeNs, -row.bytes});
  mergeFrom(deltas, begin, middle);
  mergeFrom(deltas, 0, begin);
}

void setCurve(ChunkInfo& chunk, std::span<const Delta> deltas) {
  int64_t bytes = 0;
  bool isFirst = true;
  for (size_t i = 0; i < deltas.size(); ++i) {
    bytes += deltas[i].bytes;
    const bool endsInstant = i + 1 == deltas.size() || deltas[i + 1].timeNs != deltas[i].timeNs;
    if (!endsInstant || (!isFirst && bytes <= chunk.maxBytes)) continue;
    isFirst = false;
    chunk.maxBytes = bytes;
    chunk.maxNs = deltas[i].timeNs;
  }
  chunk.netBytes = bytes;
}

void addLoss(const std::string& source, std::vector<Loss>& losses, std::string_view what, int64_t count) {
  auto loss = std::find_if(losses.begin(), losses.end(), [&](const Loss& other) { return other.what == what; });
  if (loss == losses.end()) {
    checkId(source, "loss number", std::ssize(losses), kMaxLosses);
    loss = losses.insert(loss, {std::string(what), 0});
  }
  if (count < 0 || count > std::numeric_limits<int64_t>::max() - loss->count)
    refuse(source, "loss {}: count {}, must be 0 or more, and fit 64 bits together", quote(what), count);
  loss->count += count;
}

}  // namespace moeblaze::store
