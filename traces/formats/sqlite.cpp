#include "traces/formats/sqlite.h"

#include <sqlite3.h>

#include <array>
#include <filesystem>
#include <utility>

#include "core/base/error.h"
#include "core/base/interrupt.h"

namespace moeblaze::sqlite {

/// What a database shares with its statements.
struct Session {
  using Clock = std::chrono::steady_clock;
  sqlite3* database = nullptr;
  std::string path;
  std::chrono::milliseconds stepTime{};  ///< 0 means no limit
  Clock::time_point stepBegan;
};

namespace {

[[noreturn]] void fail(const Session& session, int code) {
  if (code == SQLITE_INTERRUPT && InterruptWatch::requested()) throw Interrupted();
  if (code == SQLITE_INTERRUPT)
    refuse(session.path, "finding one row takes longer than {} ms, the most allowed", session.stepTime.count());
  // SQLite's message may quote the file, so it is made safe to print.
  refuse(session.path, "{} (SQLite code {})", quote(sqlite3_errmsg(session.database)), code);
}

void check(const Session& session, int code) {
  if (code != SQLITE_OK) fail(session, code);
}

int stopWhenLate(void* argument) {
  const Session& session = *static_cast<Session*>(argument);
  if (InterruptWatch::requested()) return 1;
  return session.stepTime.count() > 0 && Session::Clock::now() - session.stepBegan > session.stepTime ? 1 : 0;
}

/// Restricts a database as SQLite advises for files of unknown origin: https://www.sqlite.org/security.html
void restrict(sqlite3* database, const ReadLimits& limits) {
  constexpr std::array<std::pair<int, int>, 4> kSettings{{{SQLITE_DBCONFIG_DEFENSIVE, 1},
                                                          {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
                                                          {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
                                                          {SQLITE_DBCONFIG_ENABLE_VIEW, 0}}};
  for (const auto& [setting, value] : kSettings) sqlite3_db_config(database, setting, value, nullptr);
  sqlite3_db_config(database, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, nullptr);
  const std::array<std::pair<int, int>, 8> bounds{{{SQLITE_LIMIT_LENGTH, limits.valueBytes},
                                                   {SQLITE_LIMIT_SQL_LENGTH, 100'000},
                                                   {SQLITE_LIMIT_COLUMN, 500},
                                                   {SQLITE_LIMIT_EXPR_DEPTH, 20},
                                                   {SQLITE_LIMIT_COMPOUND_SELECT, 10},
                                                   {SQLITE_LIMIT_VDBE_OP, 25'000},
                                                   {SQLITE_LIMIT_ATTACHED, 0},
                                                   {SQLITE_LIMIT_TRIGGER_DEPTH, 1}}};
  for (const auto& [limit, value] : bounds) sqlite3_limit(database, limit, value);
}

}  // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

bool Statement::step() {
  session_->stepBegan = Session::Clock::now();
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) fail(*session_, code);
  reset();
  return false;
}

void Statement::reset() { sqlite3_reset(statement_.get()); }

int Statement::columns() const { return sqlite3_column_count(statement_.get()); }

bool Statement::isNull(int column) const { return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL; }

void Statement::expectType(int column, int type, const char* wanted) const {
  const int found = sqlite3_column_type(statement_.get(), column);
  if (found == type || (type == SQLITE_FLOAT && found == SQLITE_INTEGER)) return;
  constexpr std::array<const char*, 6> kNames{"?", "an integer", "a number", "text", "a blob", "null"};
  refuse(session_->path, "column {} of {}: is {}, must be {}", quote(sqlite3_column_name(statement_.get(), column)),
         quote(sqlite3_sql(statement_.get())), kNames[static_cast<size_t>(found)], wanted);
}

int64_t Statement::integer(int column) const {
  expectType(column, SQLITE_INTEGER, "an integer");
  return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
  expectType(column, SQLITE_FLOAT, "a number");
  return sqlite3_column_double(statement_.get(), column);
}

std::string_view Statement::text(int column) const {
  expectType(column, SQLITE_TEXT, "text");
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  if (!bytes)
    fail(*session_, sqlite3_errcode(session_->database));  // no memory is left, or the text is no valid UTF-16
  return {bytes, static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

std::string_view Statement::blob(int column) const {
  expectType(column, SQLITE_BLOB, "a blob");
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  if (!bytes && size > 0) fail(*session_, sqlite3_errcode(session_->database));
  return bytes ? std::string_view(bytes, size) : std::string_view();
}

void Statement::bindInteger(int parameter, int64_t value) {
  check(*session_, sqlite3_bind_int64(statement_.get(), parameter, value));
}

void Statement::bindOne(int parameter, double value) {
  check(*session_, sqlite3_bind_double(statement_.get(), parameter, value));
}

void Statement::bindOne(int parameter, std::string_view text) {
  const char* bytes = text.empty() ? "" : text.data();  // a null pointer would bind NULL instead
  check(*session_, sqlite3_bind_text64(statement_.get(), parameter, bytes, text.size(), SQLITE_STATIC, SQLITE_UTF8));
}

void Statement::bindOne(int parameter, Blob blob) {
  const char* bytes = blob.bytes.empty() ? "" : blob.bytes.data();
  check(*session_, sqlite3_bind_blob64(statement_.get(), parameter, bytes, blob.bytes.size(), SQLITE_STATIC));
}

bool isDatabase(std::string_view head) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  return head.starts_with(kMagic);
}

void Database::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Database::Database(const std::string& path, const std::string& shownPath, int flags)
    : session_(std::make_unique<Session>()) {
  constexpr int kBusyMs = 2000;
  session_->path = shownPath;
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  database_.reset(database);
  session_->database = database;
  if (code != SQLITE_OK) refuse(shownPath, "cannot be opened: {}", sqlite3_errstr(code));
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, kBusyMs);
}

Database::Database(Database&& other) noexcept = default;
Database& Database::operator=(Database&& other) noexcept = default;
Database::~Database() = default;

Database Database::openToRead(const std::string& path, const ReadLimits& limits) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (error) refuse(path, "cannot be opened: {}", error.message());
  if (!std::filesystem::is_regular_file(status)) refuse(path, "is not a regular file");
  const std::string name = std::filesystem::absolute(path, error).string();  // so that ":memory:" is a file name
  Database database(name, path, SQLITE_OPEN_READONLY);
  database.session_->stepTime = limits.stepTime;
  database.session_->stepBegan = Session::Clock::now();
  restrict(database.database_.get(), limits);
  constexpr int kInstructionsBetweenChecks = 10'000;
  sqlite3_progress_handler(database.database_.get(), kInstructionsBetweenChecks, stopWhenLate, database.session_.get());
  database.execute("PRAGMA cell_size_check=ON; PRAGMA mmap_size=0");
  return database;
}

Database Database::openToWrite(const std::string& path) { return {path, path, SQLITE_OPEN_READWRITE}; }

Database Database::create(const std::string& path, const std::string& shownPath) {
  const std::string& shown = shownPath.empty() ? path : shownPath;
  std::error_code error;
  const std::string name = std::filesystem::absolute(path, error).string();
  if (std::filesystem::exists(name, error) && !std::filesystem::is_regular_file(name, error))
    refuse(shown, "cannot be written: is not a regular file");
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(name + suffix, error);
  return {name, shown, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE};
}

void Database::execute(const std::string& sql) {
  session_->stepBegan = Session::Clock::now();
  check(*session_, sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

Statement Database::prepare(std::string_view sql) {
  session_->stepBegan = Session::Clock::now();
  sqlite3_stmt* statement = nullptr;
  check(*session_, sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr));
  return {statement, session_.get()};
}

int64_t Database::integer(std::string_view sql) {
  Statement statement = prepare(sql);
  if (!statement.step()) refuse(path(), "{} gives no row", quote(sql));
  return statement.integer(0);
}

const std::string& Database::path() const { return session_->path; }

Transaction::Transaction(Database& database) : database_(&database) { database.execute("BEGIN"); }

Transaction::~Transaction() {
  if (!database_) return;
  try {
    database_->execute("ROLLBACK");
  } catch (const std::exception&) {  // the failure that led here has already rolled it back
  }
}

void Transaction::commit() { std::exchange(database_, nullptr)->execute("COMMIT"); }

}  // namespace moeblaze::sqlite
