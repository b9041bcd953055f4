#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

/// SQLite without its handles and codes: every failure throws InputError "<path>: <what went wrong>".
namespace moeblaze::sqlite {

/// Bytes to be bound as a BLOB; a plain string_view is bound as TEXT.
struct Blob {
  std::string_view bytes;
};

/// What somebody else's database may cost.
struct ReadLimits {
  int32_t valueBytes = 64 << 20;               ///< longest text, blob or row
  std::chrono::milliseconds stepTime{60'000};  ///< longest search for one row
};

struct Session;

/// A prepared statement. Must not outlive its Database. Columns count from 0.
class Statement {
 public:
  /// True: there is a row to read. False: the statement is at its end and was reset. Throws Interrupted when the user
  /// asked to stop.
  bool step();
  /// Binds `values` in order to ?1, ?2, ... for the next steps; texts and blobs must live until then.
  template <typename... Values>
  void bind(const Values&... values) {
    int parameter = 0;
    (bindOne(++parameter, values), ...);
  }
  /// Binds `values` and runs to the end, ignoring rows.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
  }
  /// Ends reading early, which lets go of locks.
  void reset();

  int columns() const;
  bool isNull(int column) const;
  /// The column's value; a value of another type is refused. Views last until the next step.
  int64_t integer(int column) const;
  double real(int column) const;  ///< integers too
  std::string_view text(int column) const;
  std::string_view blob(int column) const;

 private:
  friend class Database;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(sqlite3_stmt* statement, Session* session) : statement_(statement), session_(session) {}
  template <std::integral Value>
  void bindOne(int parameter, Value value) {
    bindInteger(parameter, static_cast<int64_t>(value));
  }
  void bindOne(int parameter, double value);
  void bindOne(int parameter, std::string_view text);
  void bindOne(int parameter, Blob blob);
  void bindInteger(int parameter, int64_t value);
  void expectType(int column, int type, const char* wanted) const;

  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  Session* session_;
};

/// An open database file. One thread at a time, and never in a child after fork.
class Database {
 public:
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();
  /// Opens a file nobody vouches for, read-only: no extensions, views or triggers, bounded values and time. Other
  /// programs may be writing it.
  static Database openToRead(const std::string& path, const ReadLimits& limits = {});
  /// Opens a file this project's own programs wrote, to finish it.
  static Database openToWrite(const std::string& path);
  /// Creates an empty database; whatever was at `path` is gone. Errors call the file `shownPath` if that is given.
  static Database create(const std::string& path, const std::string& shownPath = {});

  /// Runs statements that yield nothing worth reading.
  void execute(const std::string& sql);
  Statement prepare(std::string_view sql);
  /// The first column of the only row of `sql`.
  int64_t integer(std::string_view sql);
  const std::string& path() const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  Database(const std::string& path, const std::string& shownPath, int flags);

  std::unique_ptr<Session> session_;
  std::unique_ptr<sqlite3, Close> database_;
};

/// Everything until commit() becomes durable together; without commit() none of it does.
class Transaction {
 public:
  explicit Transaction(Database& database);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database* database_;
};

}  // namespace moeblaze::sqlite
