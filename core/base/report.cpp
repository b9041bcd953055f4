#include "core/base/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/error.h"

namespace moeblaze {
namespace {

/// `digits` with commas between thousands.
std::string grouped(std::string digits) {
  const size_t start = digits.starts_with('-') ? 1 : 0;
  for (size_t at = std::min(digits.find('.'), digits.size()); at > start + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

/// `text` filled up with blanks to `width` columns, at its left when `right` is true.
std::string padded(const std::string& text, size_t width, bool right) {
  const std::string fill(width - std::min(width, displayWidth(text)), ' ');
  return right ? fill + text : text + fill;
}

std::string csvField(const nlohmann::ordered_json& value) {
  if (value.is_null()) return {};
  std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string escaped = "\"";
  for (char c : text) escaped += c == '"' ? std::string("\"\"") : std::string(1, c);
  return escaped + "\"";
}

}  // namespace

size_t displayWidth(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](unsigned char c) { return (c & 0xC0) != 0x80; });
}

std::string bytesText(int64_t bytes) {
  const double size = static_cast<double>(bytes);
  if (std::abs(size) < 1024) return fmt::format("{} B", bytes);
  if (std::abs(size) < 1024 * 1024) return fmt::format("{:.1f} KiB", size / 1024);
  constexpr double kMiB = 1024 * 1024, kGiB = 1024 * kMiB;
  if (std::abs(size) >= 100 * kGiB) return grouped(fmt::format("{:.1f}", size / kGiB)) + " GiB";
  return grouped(fmt::format("{:.1f}", size / kMiB)) + " MiB";
}

std::string cellText(const Record& record, const Column& column) {
  const auto found = record.find(column.key);
  if (found == record.end() || found->is_null()) return "-";
  const nlohmann::ordered_json& value = *found;
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (!value.is_number()) return value.get<std::string>();
  switch (column.unit) {
    case Unit::bytes:
      return bytesText(value.get<int64_t>());
    case Unit::count:
      return grouped(std::to_string(value.get<int64_t>()));
    case Unit::milliseconds:
      return fmt::format("{:.3f}", value.get<double>());
    case Unit::ratio:
      return fmt::format("{:.2f}×", value.get<double>());
    case Unit::percent:
      return fmt::format("{:+.2f} %", value.get<double>());
    default:
      return grouped(fmt::format("{:.1f}", value.get<double>()));
  }
}

std::string textTable(const std::vector<Record>& records, const std::vector<Column>& columns, bool markdown) {
  std::vector<std::vector<std::string>> cells(1);
  for (const Column& column : columns) cells[0].push_back(column.header);
  for (const Record& record : records) {
    auto& row = cells.emplace_back();
    for (const Column& column : columns) row.push_back(cellText(record, column));
  }
  std::vector<size_t> widths(columns.size());
  for (const auto& row : cells)
    for (size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], displayWidth(row[c]));

  std::string text;
  const auto line = [&](const auto& cell) {
    std::string row = markdown ? "|" : "";
    for (size_t c = 0; c < columns.size(); ++c) {
      const std::string field = padded(cell(c), widths[c], columns[c].unit != Unit::text);
      row += markdown ? " " + field + " |" : (c == 0 ? "" : "  ") + field;
    }
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  };
  for (size_t r = 0; r < cells.size(); ++r) {
    line([&](size_t c) { return cells[r][c]; });
    if (r == 0 && markdown)
      line([&](size_t c) { return std::string(widths[c] - 1, '-') + (columns[c].unit == Unit::text ? '-' : ':'); });
  }
  return text;
}

std::string jsonText(const std::vector<Record>& records) {
  return nlohmann::ordered_json(records).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string csvText(const std::vector<Record>& records) {
  std::string text;
  const auto line = [&](const Record& record, bool header) {
    std::string row;
    for (const auto& [key, value] : record.items()) row += (row.empty() ? "" : ",") + (header ? key : csvField(value));
    text += row + "\n";
  };
  if (!records.empty()) line(records.front(), true);
  for (const Record& record : records) line(record, false);
  return text;
}

void writeFile(const std::string& path, const std::string& text) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
  errno = 0;
  std::ofstream out(temporary, std::ios::binary);
  out << text;
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(temporary, path, error);
  if (out && !error) return;
  const std::string reason = error ? error.message() : std::generic_category().message(errno);
  std::filesystem::remove(temporary, error);
  throw InputError(fmt::format("{}: cannot be written: {}", path, reason));
}

void expectFolderOf(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::absolute(path).parent_path();
  if (!std::filesystem::is_directory(folder)) refuse(path, "cannot be written: its folder does not exist");
}

}  // namespace moeblaze
