#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace moeblaze {

/// A JSON object out of a user's file. Every accessor names the file and the field in the InputError it throws, with
/// the value found and what is allowed. A null value counts as missing.
class JsonReader {
 public:
  /// Reads and parses `path`: at most 16 MiB, at most 64 levels deep, one object at the top.
  static JsonReader fromFile(const std::filesystem::path& path);
  /// The same for text already in memory; `source` stands for the file in errors.
  static JsonReader fromText(std::string_view text, std::string source);

  bool has(std::string_view key) const;
  /// Integer in [low, high]; numbers with a fraction, strings and booleans are refused.
  int64_t integer(std::string_view key, int64_t low, int64_t high) const;
  int64_t integer(std::string_view key, int64_t low, int64_t high, int64_t fallback) const;
  /// Finite number in [low, high].
  double number(std::string_view key, double low, double high) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string text(std::string_view key) const;
  std::string text(std::string_view key, std::string fallback) const;
  /// The nested object `key`, its fields named "key.field" in errors.
  JsonReader object(std::string_view key) const;
  /// The raw value; throws when the key is missing.
  const nlohmann::json& at(std::string_view key) const;

  /// Throws for the first key not in `allowed`, with the nearest allowed one.
  void refuseUnknownKeys(std::span<const std::string_view> allowed) const;
  /// Throws "<file>: <field> <what>".
  [[noreturn]] void fail(std::string_view key, const std::string& what) const;

  const std::string& source() const { return source_; }
  const nlohmann::json& json() const { return json_; }

 private:
  JsonReader(nlohmann::json json, std::string source, std::string prefix);

  nlohmann::json json_;
  std::string source_;
  std::string prefix_;  ///< "key." of a nested object
};

}  // namespace moeblaze
