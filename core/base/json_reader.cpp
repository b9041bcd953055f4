#include "core/base/json_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/base/input_file.h"

namespace moeblaze {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFileBytes = size_t{16} << 20;
constexpr int kMaxDepth = 64;

std::string readAll(const std::filesystem::path& path) {
  std::ifstream in = openInput(path);
  std::string text;
  std::vector<char> chunk(size_t{1} << 16);
  // The file is read until it ends, since a pipe or device has no size.
  while (in.read(chunk.data(), std::ssize(chunk)) || in.gcount() > 0) {
    text.append(chunk.data(), static_cast<size_t>(in.gcount()));
    if (text.size() > kMaxFileBytes) {
      throw InputError(fmt::format("{}: is too large; allowed: up to {} MiB", path.string(), kMaxFileBytes >> 20));
    }
  }
  if (in.bad()) throw InputError(fmt::format("{}: cannot be read", path.string()));
  return text;
}

std::string describeParseError(std::string_view text, size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size() + 1) - 1);
  const auto line = std::ranges::count(before, '\n') + 1;
  const size_t lineStart = before.rfind('\n') + 1;  // npos + 1 is 0
  const std::string where = fmt::format("line {}, column {}", line, before.size() - lineStart + 1);
  if (byte > text.size()) return where + ": the JSON ends early";
  constexpr size_t kShown = 16;  // bytes
  const size_t from = std::max(lineStart, byte > kShown ? byte - kShown : 0);
  return where + ": not valid JSON near " + quote(text.substr(from, byte - from));
}

Json parse(std::string_view text, const std::string& source) {
  // Deep nesting must be refused while parsing, because everything that later walks the tree recurses.
  const auto checkDepth = [&](int depth, Json::parse_event_t event, Json&) {
    const bool opens = event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start;
    if (opens && depth >= kMaxDepth) {
      throw InputError(fmt::format("{}: is nested too deep; allowed: up to {} levels", source, kMaxDepth));
    }
    return true;
  };
  try {
    return Json::parse(text, checkDepth);
  } catch (const Json::parse_error& error) {
    throw InputError(fmt::format("{}: {}", source, describeParseError(text, std::max<size_t>(error.byte, 1))));
  } catch (const Json::out_of_range&) {
    throw InputError(fmt::format("{}: holds a number beyond {:.1e}", source, std::numeric_limits<double>::max()));
  }
}

std::string describe(const Json& value) {
  if (value.is_string()) return quote(value.get_ref<const std::string&>());
  if (value.is_structured()) return fmt::format("({})", value.type_name());
  return value.dump();
}

std::string allowedIntegers(int64_t low, int64_t high) {
  const bool any = low == std::numeric_limits<int64_t>::min() && high == std::numeric_limits<int64_t>::max();
  return any ? "allowed: a whole number" : fmt::format("allowed {} to {}", low, high);
}

std::string allowedNumbers(double low, double high) {
  const bool any = low == std::numeric_limits<double>::lowest() && high == std::numeric_limits<double>::max();
  return any ? "allowed: a number" : fmt::format("allowed {} to {}", low, high);
}

/// True for an integer beyond int64. nlohmann stores integers beyond uint64 as floating-point numbers.
bool isHugeInteger(const Json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>() > std::numeric_limits<int64_t>::max();
  return value.is_number_float() && std::abs(value.get<double>()) >= 0x1p63;
}

}  // namespace

JsonReader::JsonReader(nlohmann::json json, std::string source, std::string prefix)
    : json_(std::move(json)), source_(std::move(source)), prefix_(std::move(prefix)) {}

JsonReader JsonReader::fromFile(const std::filesystem::path& path) { return fromText(readAll(path), path.string()); }

JsonReader JsonReader::fromText(std::string_view text, std::string source) {
  Json json = parse(text, source);
  if (!json.is_object()) {
    throw InputError(fmt::format("{}: holds a JSON {}; allowed: one object", source, json.type_name()));
  }
  return JsonReader(std::move(json), std::move(source), {});
}

bool JsonReader::has(std::string_view key) const {
  const auto found = json_.find(key);
  return found != json_.end() && !found->is_null();
}

const nlohmann::json& JsonReader::at(std::string_view key) const {
  if (!has(key)) fail(key, "is missing");
  return *json_.find(key);
}

int64_t JsonReader::integer(std::string_view key, int64_t low, int64_t high) const {
  const Json& value = at(key);
  if (isHugeInteger(value)) fail(key, fmt::format("{} is too large; {}", describe(value), allowedIntegers(low, high)));
  if (!value.is_number_integer()) {
    fail(key, fmt::format("{} is not a whole number; {}", describe(value), allowedIntegers(low, high)));
  }
  const auto number = value.get<int64_t>();
  if (number < low || number > high) {
    fail(key, fmt::format("{} is out of range; {}", number, allowedIntegers(low, high)));
  }
  return number;
}

int64_t JsonReader::integer(std::string_view key, int64_t low, int64_t high, int64_t fallback) const {
  return has(key) ? integer(key, low, high) : fallback;
}

double JsonReader::number(std::string_view key, double low, double high) const {
  const Json& value = at(key);
  if (!value.is_number()) {
    fail(key, fmt::format("{} is not a number; {}", describe(value), allowedNumbers(low, high)));
  }
  const auto number = value.get<double>();
  if (!(number >= low && number <= high)) {
    fail(key, fmt::format("{} is out of range; {}", describe(value), allowedNumbers(low, high)));
  }
  return number;
}

bool JsonReader::boolean(std::string_view key, bool fallback) const {
  if (!has(key)) return fallback;
  const Json& value = at(key);
  if (!value.is_boolean()) fail(key, describe(value) + " is not a boolean; allowed: true, false");
  return value.get<bool>();
}

std::string JsonReader::text(std::string_view key) const {
  const Json& value = at(key);
  if (!value.is_string()) fail(key, describe(value) + " is not text; allowed: a string");
  return value.get<std::string>();
}

std::string JsonReader::text(std::string_view key, std::string fallback) const {
  return has(key) ? text(key) : std::move(fallback);
}

JsonReader JsonReader::object(std::string_view key) const {
  const Json& value = at(key);
  if (!value.is_object()) fail(key, describe(value) + " is not an object; allowed: an object");
  return JsonReader(value, source_, fmt::format("{}{}.", prefix_, key));
}

void JsonReader::refuseUnknownKeys(std::span<const std::string_view> allowed) const {
  for (const auto& [key, value] : json_.items()) {
    if (std::ranges::find(allowed, key) != allowed.end()) continue;
    throw InputError(fmt::format("{}: unknown key {}; allowed: {}{}", source_, quote(prefix_ + key), listNames(allowed),
                                 didYouMean(key, allowed)));
  }
}

void JsonReader::fail(std::string_view key, const std::string& what) const {
  throw InputError(fmt::format("{}: {}{} {}", source_, prefix_, key, what));
}

}  // namespace moeblaze
