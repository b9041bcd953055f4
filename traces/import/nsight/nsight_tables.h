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

/// A column that the importer asks for. A table that lacks a `required` one cannot be read.
struct NsightColumn {
  std::string_view name;
  bool isText = false;
  bool required = false;
};

/// An SQLite export of Nsight Systems, whose tables and columns differ between versions. How much is read from it is
/// bounded by its size, because in a damaged file the B-tree may lead to the rows of one page without end.
class NsightFile {
 public:
  /// Throws InputError for a file that is not a database.
  NsightFile(const std::string& path, const ReadProgress& progress);

  /// The names of the columns of an ordinary table. Empty when there is no such table; views do not count.
  std::vector<std::string> columns(std::string_view table);
  /// The text with this id in the table StringIds.
  std::optional<std::string_view> string(int64_t id);
  /// The label, or else the name, of each id in a table ENUM_.... Empty when there is no such table.
  std::unordered_map<int64_t, std::string> enumeration(std::string_view table);

  sqlite::Database& database() { return database_; }
  const std::string& path() const { return database_.path(); }
  /// These count what was read and report progress. They throw InputError when it is more than the file can hold.
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

/// Reads the rows of one table. Values of missing columns and values of the wrong type are empty.
class NsightTable {
 public:
  NsightTable(NsightFile& file, std::string_view table, std::vector<NsightColumn> columns);

  /// Whether the table exists with all its required columns.
  bool readable() const { return statement_.has_value(); }
  /// The first required column that the table lacks. Empty when it lacks none or does not exist.
  const std::string& lacks() const { return lacks_; }
  /// Whether the table has the column, by its position in the list of columns.
  bool has(size_t column) const { return present_[column]; }

  /// Goes to the next row; false after the last one.
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
