#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace moeblaze {

enum class Format : uint8_t { table, json, csv, md };

/// A flat JSON object. The same record feeds every format.
using Record = nlohmann::ordered_json;

/// How a table shows a field: bytes as MiB or GiB, numbers with separators or a few decimals.
enum class Unit : uint8_t { text, count, bytes, milliseconds, number, ratio, percent };

/// A column of a table: the field `key` of each record below `header`.
struct Column {
  std::string key;
  std::string header;
  Unit unit = Unit::text;
};

/// Bytes in binary units with one decimal and grouped thousands, such as "6,144.0 MiB". GiB are used from 100 GiB on.
std::string bytesText(int64_t bytes);
/// The field of a column as text; "-" when it is missing or null.
std::string cellText(const Record& record, const Column& column);

/// The given columns of `records` as aligned text, or as a Markdown table.
std::string textTable(const std::vector<Record>& records, const std::vector<Column>& columns, bool markdown = false);
/// Every field of the records, as a JSON array of objects.
std::string jsonText(const std::vector<Record>& records);
/// Every field of the records as comma-separated values with a header line (RFC 4180).
std::string csvText(const std::vector<Record>& records);

/// How many columns `text` takes in a terminal: its code points, not its bytes.
size_t displayWidth(std::string_view text);

/// Throws InputError when the folder of `path` does not exist, so that long work is not done in vain.
void expectFolderOf(const std::string& path);

/// Writes `path` whole or not at all: a temporary file beside it is written, then renamed. Throws InputError.
void writeFile(const std::string& path, const std::string& text);

}  // namespace moeblaze
