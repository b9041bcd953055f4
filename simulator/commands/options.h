#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "core/command/command_options.h"
#include "simulator/cost/machine.h"

namespace moeblaze {

/// The layer that is simulated, and the machine.
struct InputOptions {
  void addTo(CLI::App& command);

  LayerOptions layer;
  std::string gpu = "h200";
  bool withRouter = false;
};

/// What InputOptions stand for, loaded and validated.
struct Inputs {
  /// Throws InputError.
  explicit Inputs(const InputOptions& options);
  /// Two lines of text about the layer, its routing and the machine.
  std::string describe() const;

  ConfigSource source;
  Routing routing;
  Machine machine;
};

/// Adds --gpu, whose value loadMachine() reads.
void addGpu(CLI::App& command, std::string& gpu);

}  // namespace moeblaze
