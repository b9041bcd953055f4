#include "traces/import/nsight/nsight_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/error.h"

namespace moeblaze {
namespace {

constexpr sqlite::ReadLimits kLimits{.valueBytes = 16 << 20, .stepTime = std::chrono::seconds(20)};

uint64_t bytesOf(const std::string& path) {
  uint64_t bytes = 0;
  for (const char* suffix : {"", "-wal"}) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(path + suffix, error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace

NsightFile::NsightFile(const std::string& path, const ReadProgress& progress)
    : database_(sqlite::Database::openToRead(path, kLimits)), progress_(progress) {
  constexpr uint64_t kMinRowBytes = 4, kUsualRowBytes = 64;
  constexpr uint64_t kTextPerByte = 4;  // several rows may use the same text
  const uint64_t bytes = bytesOf(path);
  rowsLeft_ = bytes / kMinRowBytes;
  textLeft_ = bytes * kTextPerByte;
  usualRows_ = std::max<uint64_t>(1, bytes / kUsualRowBytes);
}

void NsightFile::countRow() {
  if (rowsLeft_-- == 0) refuse(path(), "yields more rows than its size can hold; it is damaged");
  if (isMilestone(++rows_)) progress_.at(std::min(rows_, usualRows_), usualRows_);
}

void NsightFile::countText(size_t bytes) {
  if (bytes > textLeft_) refuse(path(), "yields more text than its size can hold; it is damaged");
  textLeft_ -= bytes;
}

std::vector<std::string> NsightFile::columns(std::string_view table) {
  // Virtual tables have no root page. They are left out, because reading one would run its module.
  sqlite::Statement found =
      database_.prepare("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 AND rootpage > 0");
  found.bind(table);
  if (!found.step()) return {};
  found.reset();
  std::vector<std::string> names;
  sqlite::Statement info = database_.prepare("SELECT name FROM pragma_table_info(?1)");
  info.bind(table);
  while (info.step()) names.emplace_back(info.text(0));
  return names;
}

std::optional<std::string_view> NsightFile::string(int64_t id) {
  if (!readStrings_) {
    readStrings_ = true;
    NsightTable table(*this, "StringIds", {{"id", false, true}, {"value", true, true}});
    while (table.readable() && table.next()) {
      const auto key = table.integer(0);
      const auto value = table.text(1);
      if (key && value) strings_.emplace(*key, *value);
    }
  }
  const auto found = strings_.find(id);
  return found == strings_.end() ? std::nullopt : std::optional<std::string_view>(found->second);
}

std::unordered_map<int64_t, std::string> NsightFile::enumeration(std::string_view name) {
  std::unordered_map<int64_t, std::string> texts;
  NsightTable table(*this, name, {{"id", false, true}, {"name", true}, {"label", true}});
  while (table.readable() && table.next()) {
    const auto id = table.integer(0);
    const auto label = table.text(2) ? table.text(2) : table.text(1);
    if (id && label) texts.emplace(*id, label->substr(0, 64));
  }
  return texts;
}

NsightTable::NsightTable(NsightFile& file, std::string_view table, std::vector<NsightColumn> columns)
    : file_(file), present_(columns.size()) {
  const std::vector<std::string> found = file.columns(table);
  if (found.empty()) return;
  std::string list;
  for (size_t i = 0; i < columns.size(); ++i) {
    const NsightColumn& column = columns[i];
    present_[i] = std::ranges::find(found, column.name) != found.end();
    if (!present_[i] && column.required && lacks_.empty()) lacks_ = column.name;
    list += list.empty() ? "" : ", ";
    list += present_[i] ? fmt::format("CASE WHEN typeof(\"{0}\") = '{1}' THEN \"{0}\" END", column.name,
                                      column.isText ? "text" : "integer")
                        : "NULL";
  }
  if (lacks_.empty()) statement_.emplace(file.database().prepare(fmt::format("SELECT {} FROM \"{}\"", list, table)));
}

bool NsightTable::next() {
  if (!statement_->step()) return false;
  file_.countRow();
  return true;
}

std::optional<int64_t> NsightTable::integer(size_t column) const {
  const int at = static_cast<int>(column);
  return statement_->isNull(at) ? std::nullopt : std::optional(statement_->integer(at));
}

std::optional<std::string_view> NsightTable::text(size_t column) const {
  const int at = static_cast<int>(column);
  if (statement_->isNull(at)) return {};
  const std::string_view value = statement_->text(at);
  file_.countText(value.size());
  return value;
}

}  // namespace moeblaze
