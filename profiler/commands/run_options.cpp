#include "profiler/commands/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iostream>

#include "core/base/error.h"
#include "core/command/command_options.h"
#include "core/command/program.h"
#include "kernels/bench/bench.h"
#include "simulator/cost/cost_model.h"

namespace moeblaze::profiler {
namespace {

constexpr std::array<std::string_view, 2> kBackends{"cuda", "host"};
constexpr int64_t kMaxSteps = 10'000;
/// The first steps are slower, until a GPU's clocks and memory pools have settled.
constexpr int64_t kCudaWarmUps = 3, kHostWarmUps = 1;

/// The named machine whose name is part of the GPU's name, as h200 is part of "NVIDIA H200".
std::optional<Machine> machineOf(const std::string& gpu) {
  std::string lower = gpu;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Machine& machine : namedMachines())
    if (lower.find(machine.name) != std::string::npos) return machine;
  return std::nullopt;
}

}  // namespace

void WhereOptions::addTo(CLI::App& command) {
  command.add_option("--backend", backend, "Where it runs: cuda or host")->capture_default_str()->type_name("BACKEND");
  command.add_option("--device", device, "GPU to run on")->capture_default_str()->type_name("N");
  command.add_option("--steps", steps, "Training steps to measure")->capture_default_str()->type_name("N");
  command
      .add_option("--warm-ups", warmUps,
                  "Steps before them, compared in bytes but not timed (default: 3 on a GPU, 1 on the host)")
      ->type_name("N");
  command.add_option("--gpu", gpu, "What predicts times: a built-in name or a machine file (default: the GPU's own)")
      ->type_name("GPU");
  command.add_flag("--portable", portable, "Kernels that any GPU from sm_80 on runs, not those for this one (cuda)");
}

void WhereOptions::check() {
  if (std::ranges::find(kBackends, backend) == kBackends.end()) refuseName("--backend", backend, kBackends);
  run_.device = static_cast<int>(parseCount("--device", device, 0, kMaxDevices));
  run_.steps = parseCount("--steps", steps, 1, kMaxSteps);
  run_.warmUps =
      warmUps.empty() ? (onCuda() ? kCudaWarmUps : kHostWarmUps) : parseCount("--warm-ups", warmUps, 0, kMaxSteps);
  run_.portable = portable;
  if (!gpu.empty()) machine_ = loadMachine(gpu);
  if (!onCuda()) return;
  place_ = gpuName(run_.device);
  if (!machine_) machine_ = machineOf(place_);
}

ProfiledRun WhereOptions::profile(const Plan& plan, const Routing& routing) const {
  std::cerr << fmt::format("running {} under {} on {}, {} times\n", plan.config.name, plan.system, place_,
                           run_.warmUps + run_.steps);
  RunOptions options = run_;
  if (machine_) options.predictedNs = stepTimes(plan, *machine_);
  return onCuda() ? profileOnCuda(plan, routing, options) : profileOnHost(plan, routing, options);
}

}  // namespace moeblaze::profiler
