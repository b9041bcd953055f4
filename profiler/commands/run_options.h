#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "core/command/command_options.h"
#include "profiler/planned/profiled_run.h"
#include "simulator/cost/machine.h"

namespace moeblaze::profiler {

/// Where and how often Plans are run, as `run` and `validate` ask.
struct WhereOptions {
  void addTo(CLI::App& command);
  /// Throws InputError, and DeviceError when the GPU is not there.
  void check();
  bool onCuda() const { return backend == "cuda"; }

  /// Runs a Plan there, and says so on standard error.
  ProfiledRun profile(const Plan& plan, const Routing& routing) const;
  /// Name of the GPU, or of the host.
  const std::string& place() const { return place_; }
  /// What predicts times there; nothing on the host and for GPUs of which no machine is known.
  const std::optional<Machine>& machine() const { return machine_; }

  std::string backend = "cuda";
  std::string device = "0";
  std::string steps = "3", warmUps;
  std::string gpu;
  bool portable = false;

 private:
  RunOptions run_;
  std::string place_ = "this machine's CPU";
  std::optional<Machine> machine_;
};

}  // namespace moeblaze::profiler
