#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "core/command/command_options.h"
#include "profiler/planned/profile_cuda.h"
#include "profiler/planned/profile_host.h"
#include "simulator/cost/machine.h"

namespace moeblaze::profiler {

/// The options of `run` and `validate` that say where and how often a Plan is run.
struct WhereOptions {
  void addTo(CLI::App& command);
  /// Reads the options' texts; must come before the functions below. Throws InputError for a wrong value, DeviceError
  /// when the GPU is missing.
  void check();
  bool onCuda() const { return backend == "cuda"; }

  /// Runs a Plan and announces that on standard error.
  ProfiledRun profile(const Plan& plan, const Routing& routing) const;
  /// The GPU's name, or a text for the host.
  const std::string& place() const { return place_; }
  /// The machine that predicts times: the one of --gpu, else the one that is known for this GPU, else nothing.
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
