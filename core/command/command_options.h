#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/report.h"
#include "core/config/config.h"
#include "core/routing/routing.h"
#include "core/systems/system.h"

namespace moeblaze {

/// Throws InputError for an `option` whose value `text` is not allowed; names the nearest allowed value.
[[noreturn]] void refuseName(const std::string& option, const std::string& text,
                             std::span<const std::string_view> allowed);

/// Where and how a command's result is printed.
struct OutputOptions {
  void addTo(CLI::App& command);
  /// Adds --format alone, for a command whose -o is a file of another kind.
  void addFormatTo(CLI::App& command);
  Format format() const;
  /// Writes `records` to the file of -o, or to `out` without one: every field as JSON or CSV, or else the text that
  /// `text` gives.
  void emit(const std::vector<Record>& records, const std::function<std::string(bool markdown)>& text,
            std::ostream& out) const;

  std::string formatName = "table";
  std::string file;
};

/// The layer that a command is about.
struct LayerOptions {
  void addTo(CLI::App& command);
  /// Loads the config, applies the other options to it and validates it. Throws InputError.
  ConfigSource load() const;

  std::string config;
  std::string tokens, batch, seq;
  std::string activation;
  std::string routing = "balanced";
};

/// Adds --systems, whose value parseSystems() reads.
void addSystems(CLI::App& command, std::string& systems);
/// Adds --repeat, whose value parseCount() reads.
void addRepeat(CLI::App& command, std::string& repeat);

/// One line that describes the layer.
std::string describeLayer(const ConfigSource& source);

/// The systems of a comma-separated list in order, each once. `all` stands for every system but `custom`. Throws
/// InputError.
std::vector<System> parseSystems(const std::string& list);

}  // namespace moeblaze
