#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/command/command_options.h"
#include "simulator/cost/machine.h"

namespace moeblaze {

/// What is simulated, on what.
struct InputOptions {
  void addTo(CLI::App& command);

  LayerOptions layer;
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
