#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

/// SQLite without its handles and result codes. Every failure throws InputError "<path>: <what went wrong>".
namespace moeblaze::sqlite {

/// Bytes that are bound as a BLOB. A plain string_view is bound as TEXT.
struct Blob {
  std::string_view bytes;
};

/// Bounds on what reading a database of unknown origin may cost.
struct ReadLimits {
  int32_t valueBytes = 64 << 20;               ///< longest text, blob or row
  std::chrono::milliseconds stepTime{60'000};  ///< longest time to find one row
};

struct Session;

/// A prepared statement. It must not outlive its Database. Columns count from 0.
class Statement {
 public:
  /// Goes to the next row. Returns false after the last one; the statement was then reset. Throws Interrupted when the
  /// user asked to stop.
  bool step();
  /// Binds `values` in order to ?1, ?2, ... for the next steps. Texts and blobs must live until those are done.
  template <typename... Values>
  void bind(const Values&... values) {
    int parameter = 0;
    (bindOne(++parameter, values), ...);
  }
  /// Binds `values` and runs the statement to its end. Rows are ignored.
  template <typename... Values>
  void run(const Values&... values) {
    bind(values...);
    while (step()) {
    }
  }
  /// Ends reading before the last row, which releases the locks.
  void reset();

  int columns() const;
  bool isNull(int column) const;
  /// The value of a column. Throws InputError for a value of another type. Views last until the next step.
  int64_t integer(int column) const;
  double real(int column) const;  ///< also takes integers
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

/// Whether a file that begins with `head` is an SQLite database.
bool isDatabase(std::string_view head);

/// An open database file. Only one thread may use it at a time, and never a child after fork.
class Database {
 public:
  Database(Database&& other) noexcept;
  Database& operator=(Database&& other) noexcept;
  ~Database();
  /// Opens a file of unknown origin to read it, without extensions, views and triggers, and with bounds on values and
  /// time. Other programs may be writing it.
  static Database openToRead(const std::string& path, const ReadLimits& limits = {});
  /// Opens a file that this project's own programs wrote, in order to finish it.
  static Database openToWrite(const std::string& path);
  /// Creates an empty database in place of whatever was at `path`. Errors call the file `shownPath` if that is given.
  static Database create(const std::string& path, const std::string& shownPath = {});

  /// Runs statements whose rows, if any, do not matter.
  void execute(const std::string& sql);
  Statement prepare(std::string_view sql);
  /// The integer in the first column of the first row that `sql` gives.
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

/// A transaction on a database. commit() makes everything since the beginning durable together; without it, none of it
/// stays.
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
