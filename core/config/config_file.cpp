#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <vector>

#include "core/base/error.h"
#include "core/base/json_reader.h"
#include "core/config/config.h"
#include "core/config/config_fields.h"
#include "core/config/config_hf.h"

namespace moeblaze {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 7> kOtherKeys{"activation",  "dtype",           "gate_dtype", "router",
                                                     "renormalize", "capacity_factor", "name"};

std::vector<std::string_view> allowedKeys() {
  std::vector<std::string_view> keys;
  for (const IntegerField& field : kIntegerFields) keys.push_back(field.key);
  keys.insert(keys.end(), kOtherKeys.begin(), kOtherKeys.end());
  return keys;
}

/// Reads the whole numbers without their ranges, which validate() checks together with those that depend on each other.
void readIntegers(const JsonReader& reader, MoeConfig& config) {
  using Limits = std::numeric_limits<int64_t>;
  for (const IntegerField& field : kIntegerFields) {
    if (!field.required && !reader.has(field.key)) continue;
    config.*field.member = reader.integer(field.key, Limits::min(), Limits::max());
  }
  if (config.sharedExperts > 0 && !reader.has("shared_d_ff")) config.sharedDFf = config.dFf;
}

template <typename Enum, size_t N>
void readName(const JsonReader& reader, std::string_view key, const std::array<Enum, N>& values, Enum& value) {
  if (reader.has(key)) value = parseName(reader.text(key), reader.source(), key, values);
}

/// Reads a config with this toolkit's own keys.
ConfigSource readDesignKeys(const JsonReader& reader, const fs::path& path) {
  reader.refuseUnknownKeys(allowedKeys());
  MoeConfig config;
  readIntegers(reader, config);
  readName(reader, "activation", kActivations, config.activation);
  readName(reader, "dtype", kFloatDTypes, config.dtype);
  readName(reader, "gate_dtype", kFloatDTypes, config.gateDtype);
  readName(reader, "router", kRouters, config.router);
  config.renormalize = reader.boolean("renormalize", false);
  if (reader.has("capacity_factor")) {
    using Limits = std::numeric_limits<double>;
    config.capacityFactor = reader.number("capacity_factor", Limits::lowest(), Limits::max());
  }
  config.name = reader.text("name", path.stem().string());
  return {.layer = std::move(config), .origin = path.string()};
}

/// `name` without control characters and shortened, fit for terminals and reports.
std::string printable(std::string name) {
  constexpr size_t kMaxLength = 128;
  std::ranges::replace_if(
      name, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return name.substr(0, kMaxLength);
}

ConfigSource readFile(const fs::path& path) {
  const JsonReader reader = JsonReader::fromFile(path);
  ConfigSource source = isHuggingFace(reader) ? readHuggingFace(reader, path) : readDesignKeys(reader, path);
  source.layer.name = printable(std::move(source.layer.name));
  validate(source.layer, reader.source());
  return source;
}

/// `text` in lower case, with hyphens for underscores, as built-in names are written.
std::string canonicalName(std::string_view text) {
  std::string name(text);
  std::ranges::transform(name, name.begin(),
                         [](unsigned char c) { return c == '_' ? '-' : static_cast<char>(std::tolower(c)); });
  return name;
}

[[noreturn]] void failUnknown(const std::string& text) {
  if (text.find('/') != std::string::npos || text.ends_with(".json")) {
    throw InputError(fmt::format("{}: no such file", text));
  }
  std::vector<std::string_view> names;
  for (const ConfigSource& source : namedConfigs()) names.push_back(source.layer.name);
  throw InputError(fmt::format("unknown config {}{} (moeblaze list configs shows the built-in ones)", quote(text),
                               didYouMean(canonicalName(text), names)));
}

}  // namespace

ConfigSource loadConfig(const std::string& text) {
  const auto& named = namedConfigs();
  const auto found =
      std::ranges::find(named, canonicalName(text), [](const auto& source) { return source.layer.name; });
  if (found != named.end()) return *found;

  std::error_code error;
  if (!fs::exists(text, error)) failUnknown(text);
  if (!fs::is_directory(text, error)) return readFile(text);
  const fs::path inside = fs::path(text) / "config.json";
  if (!fs::exists(inside, error)) throw InputError(fmt::format("{}: this folder holds no config.json", text));
  return readFile(inside);
}

}  // namespace moeblaze
