#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace moeblaze {

enum class Format : uint8_t { table, json, csv, md };

/// A flat object; the same record feeds every format.
using Record = nlohmann::ordered_json;

/// How a person reads a field: bytes as MiB or GiB, numbers with separators or a few decimals.
enum class Unit : uint8_t { text, count, bytes, milliseconds, number, ratio, percent };

struct Column {
  std::string key;
  std::string header;
  Unit unit = Unit::text;
};

/// "6,144.0 MiB": binary units, one decimal, grouped thousands; GiB from 100 GiB on.
std::string bytesText(int64_t bytes);
/// A field as text; "-" when missing or null.
std::string cellText(const Record& record, const Column& column);

/// The columns of `records` drawn with aligned columns, or as a Markdown table.
std::string textTable(const std::vector<Record>& records, const std::vector<Column>& columns, bool markdown = false);
/// Every field of the records as an array of objects.
std::string jsonText(const std::vector<Record>& records);
/// Every field as comma-separated values with a header line (RFC 4180).
std::string csvText(const std::vector<Record>& records);

/// Columns of terminal text takes: code points, not bytes.
size_t displayWidth(std::string_view text);

/// Throws InputError when the folder `path` would be in does not exist: before long work, not after it.
void expectFolderOf(const std::string& path);

/// Writes to a temporary beside `path`, then renames it: nothing half-written. Throws InputError.
void writeFile(const std::string& path, const std::string& text);

}  // namespace moeblaze
