#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "core/config.h"
#include "core/routing.h"
#include "simulator/machine.h"
#include "simulator/report.h"

namespace moeblaze {

/// Where and how a command's result is printed.
struct OutputOptions {
  void addTo(CLI::App& command);
  Format format() const;
  /// Prints `records`, or writes them to the file of -o: whole as JSON or CSV, else as `text(markdown)` shows them.
  void emit(const std::vector<Record>& records, const std::function<std::string(bool markdown)>& text,
            std::ostream& out) const;

  std::string formatName = "table";
  std::string file;
};

/// What is simulated, on what.
struct InputOptions {
  void addTo(CLI::App& command);

  std::string config;
  std::string tokens, batch, seq;
  std::string activation;
  std::string routing = "balanced";
  std::string gpu = "h200";
  bool withRouter = false;
};

/// The options' meaning, loaded and checked.
struct Inputs {
  explicit Inputs(const InputOptions& options);
  /// Two lines that say what is simulated: layer, routing, machine.
  std::string describe() const;

  ConfigSource source;
  Routing routing;
  Machine machine;
};

/// Adds --gpu alone.
void addGpu(CLI::App& command, std::string& gpu);

}  // namespace moeblaze
