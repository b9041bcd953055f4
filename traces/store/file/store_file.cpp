#include "traces/store/file/store_file.h"

#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>

#include "core/base/error.h"

namespace moeblaze::store {
namespace {

/// Whether a path is on a network file system. There a write-ahead log cannot be used, because it needs memory that
/// programs share.
bool isOnNetwork(const std::string& path) {
  constexpr std::array<uint32_t, 6> kNetwork{0x6969 /*NFS*/,      0x0BD00BD0 /*Lustre*/, 0x517B /*SMB*/,
                                             0xFF534D42 /*CIFS*/, 0xFE534D42 /*SMB2*/,   0x47504653 /*GPFS*/};
  struct statfs info {};
  if (statfs(path.c_str(), &info) != 0) return false;
  return std::find(kNetwork.begin(), kNetwork.end(), static_cast<uint32_t>(info.f_type)) != kNetwork.end();
}

}  // namespace

bool leaveLog(sqlite::Database& database) {
  sqlite::Statement mode = database.prepare("PRAGMA journal_mode=DELETE");
  try {
    return mode.step() && mode.text(0) == "delete";
  } catch (const InputError&) {  // the database is busy: nothing is missing, but it is not in one file
    return false;
  }
}

StoreFile::StoreFile(const std::string& path, const std::string& shownPath, Mode mode)
    : database_(sqlite::Database::create(path, shownPath)), mode_(mode) {
  constexpr int kPageBytes = 4096, kCheckpointPages = 4096;
  database_.execute(fmt::format("PRAGMA page_size={}", kPageBytes));
  if (mode == Mode::whole)
    database_.execute("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE");
  else
    database_.execute(fmt::format("PRAGMA journal_mode={}; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint={}",
                                  isOnNetwork(path) ? "TRUNCATE" : "WAL", kCheckpointPages));
  createTables();
}

void StoreFile::createTables() {
  begin();
  database_.execute(
      fmt::format("PRAGMA application_id={}; PRAGMA user_version={}", kApplicationId, kMajor * kMajorFactor + kMinor));
  for (size_t i = 0; i <= kTables; ++i) {
    const TableSpec& table = i < kTables ? spec(static_cast<Table>(i)) : sumsSpec();
    database_.execute(createSql(table));
    inserts_.push_back(database_.prepare(insertSql(table)));
  }
  for (size_t i = 0; i < kTables; ++i) inserts_[kTables].run(i, spec(static_cast<Table>(i)).name, 0, 0);
  commit();
}

void StoreFile::expectUsable() const {
  if (state_ == State::broken) refuse(database_.path(), "takes nothing more after a failed write");
  if (state_ == State::finished) refuse(database_.path(), "is finished and takes nothing more");
}

void StoreFile::begin() {
  if (!transaction_) transaction_.emplace(database_);
}

void StoreFile::insertChunk(ChunkInfo chunk, std::string_view columns) {
  const std::string_view data = zstd_.pack(columns);
  insertRow(Table::chunks, sqlite::Blob{data}, true, static_cast<int64_t>(chunk.kind), chunk.owner, chunk.startNs,
            chunk.endNs, chunk.rows, chunk.frees, chunk.netBytes, chunk.maxBytes, chunk.maxNs, kZstdCodec, crc32(data));
}

void StoreFile::writeSums() {
  for (size_t i = 0; i < kTables; ++i) {
    if (sums_[i] == committedSums_[i]) continue;
    inserts_[kTables].run(i, spec(static_cast<Table>(i)).name, sums_[i].rows(), sums_[i].crc());
  }
}

void StoreFile::commit() {
  if (!transaction_) return;
  expectUsable();
  state_ = State::broken;
  writeSums();
  transaction_->commit();
  transaction_.reset();
  committedSums_ = sums_;
  state_ = State::usable;
}

bool StoreFile::finish() {
  commit();
  state_ = State::finished;
  if (mode_ == Mode::whole) return true;
  return leaveLog(database_);
}

}  // namespace moeblaze::store
