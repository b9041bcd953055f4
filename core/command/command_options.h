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

/// Throws InputError: `text` is not among what `option` allows; names the nearest.
[[noreturn]] void refuseName(const std::string& option, const std::string& text,
                             std::span<const std::string_view> allowed);

/// Where and how a command's result is printed.
struct OutputOptions {
  void addTo(CLI::App& command);
  /// Only --format: of a command whose -o is a file of another kind.
  void addFormatTo(CLI::App& command);
  Format format() const;
  /// Prints `records`, or writes them to the file of -o: whole as JSON or CSV, else as `text(markdown)` shows them.
  void emit(const std::vector<Record>& records, const std::function<std::string(bool markdown)>& text,
            std::ostream& out) const;

  std::string formatName = "table";
  std::string file;
};

/// Which layer a command is about.
struct LayerOptions {
  void addTo(CLI::App& command);
  /// The config with the options' overrides, checked. Throws InputError.
  ConfigSource load() const;

  std::string config;
  std::string tokens, batch, seq;
  std::string activation;
  std::string routing = "balanced";
};

/// Adds --systems; what it holds is for parseSystems.
void addSystems(CLI::App& command, std::string& systems);
/// Adds --repeat; what it holds is for parseCount.
void addRepeat(CLI::App& command, std::string& repeat);

/// One line that says what the layer is.
std::string describeLayer(const ConfigSource& source);

/// The systems of a comma-separated list, each once, in order; `all` is every system but `custom`.
std::vector<System> parseSystems(const std::string& list);

}  // namespace moeblaze
