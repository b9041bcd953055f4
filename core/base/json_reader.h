#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace moeblaze {

/// A JSON object from a user's file. Every accessor throws InputError when a key is missing or its value is wrong; the
/// text names the file, the field, the value and what is allowed. A null value counts as missing.
class JsonReader {
 public:
  /// Reads and parses `path`, which must hold one object of at most 16 MiB and at most 64 levels.
  static JsonReader fromFile(const std::filesystem::path& path);
  /// The same for text in memory; errors name `source` instead of a file.
  static JsonReader fromText(std::string_view text, std::string source);

  bool has(std::string_view key) const;
  /// An integer in [low, high]. Numbers with a fraction, strings and booleans are refused.
  int64_t integer(std::string_view key, int64_t low, int64_t high) const;
  int64_t integer(std::string_view key, int64_t low, int64_t high, int64_t fallback) const;
  /// A finite number in [low, high].
  double number(std::string_view key, double low, double high) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string text(std::string_view key) const;
  std::string text(std::string_view key, std::string fallback) const;
  /// The nested object `key`. Its errors name fields "key.field".
  JsonReader object(std::string_view key) const;
  /// The value itself.
  const nlohmann::json& at(std::string_view key) const;

  /// Throws InputError for the first key that is not in `allowed`, and names the nearest allowed one.
  void refuseUnknownKeys(std::span<const std::string_view> allowed) const;
  /// Throws InputError "<file>: <field> <what>".
  [[noreturn]] void fail(std::string_view key, const std::string& what) const;

  const std::string& source() const { return source_; }
  const nlohmann::json& json() const { return json_; }

 private:
  JsonReader(nlohmann::json json, std::string source, std::string prefix);

  nlohmann::json json_;
  std::string source_;
  std::string prefix_;  ///< "key." for a nested object
};

}  // namespace moeblaze
