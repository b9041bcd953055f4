#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "traces/formats/read_progress.h"
#include "traces/formats/sqlite.h"

namespace moeblaze {

/// A column an import asks for; `required` ones make a table unreadable when missing.
struct NsightColumn {
  std::string_view name;
  bool isText = false;
  bool required = false;
};

/// A SQLite export of Nsight Systems, whose tables and columns differ from version to version. What it may cost is
/// bounded by its size: a damaged tree of pages can yield one page's rows without end.
class NsightFile {
 public:
  /// Throws InputError for what is not a database.
  NsightFile(const std::string& path, const ReadProgress& progress);

  /// Names of the columns of an ordinary table; empty when there is none (a view is none).
  std::vector<std::string> columns(std::string_view table);
  /// The text of StringIds with this id.
  std::optional<std::string_view> string(int64_t id);
  /// A table ENUM_...: the label, or else the name, of each id. Empty when there is none.
  std::unordered_map<int64_t, std::string> enumeration(std::string_view table);

  sqlite::Database& database() { return database_; }
  const std::string& path() const { return database_.path(); }
  /// Count what was read, which progress is told of; throw InputError when it is more than the file can hold.
  void countRow();
  void countText(size_t bytes);

 private:
  sqlite::Database database_;
  const ReadProgress& progress_;
  uint64_t rows_ = 0, usualRows_ = 0;
  uint64_t rowsLeft_ = 0, textLeft_ = 0;
  bool readStrings_ = false;
  std::unordered_map<int64_t, std::string> strings_;
};

/// Reads the rows of one table. Missing columns and values of the wrong type are empty.
class NsightTable {
 public:
  NsightTable(NsightFile& file, std::string_view table, std::vector<NsightColumn> columns);

  /// Whether the table exists with all its required columns.
  bool readable() const { return statement_.has_value(); }
  /// The required column an existing table lacks; empty when none.
  const std::string& lacks() const { return lacks_; }
  bool has(size_t column) const { return present_[column]; }

  bool next();
  std::optional<int64_t> integer(size_t column) const;
  std::optional<std::string_view> text(size_t column) const;

 private:
  NsightFile& file_;
  std::vector<bool> present_;
  std::string lacks_;
  std::optional<sqlite::Statement> statement_;
};

}  // namespace moeblaze
