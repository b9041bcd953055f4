#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>

namespace moeblaze {

/// The highest --repeat and --device that benchmarks take.
inline constexpr int64_t kMaxRepeats = 1000, kMaxDevices = 1023;

/// The GPU that a benchmark runs on, and with which kernels.
struct GpuOptions {
  std::string device = "0";
  bool portable = false;  ///< runs the kernels of any GPU, even where there are better ones for this one

  /// Adds --device.
  void addDevice(CLI::App& command);
  /// The device's number. Throws InputError when --device is none.
  int number() const;
};

/// The command `plan`: how many simulations one core does in a second.
std::function<void(std::ostream& out)> addBenchPlan(CLI::App& app);

/// The command `layer`: a layer executed as each system's Plan.
std::function<void(std::ostream& out)> addBenchLayer(CLI::App& app);

/// The command `dispatch`: index structures built on a GPU by each of three methods.
std::function<void(std::ostream& out)> addBenchDispatch(CLI::App& app);

/// The command `gemm`: each Step of a layer on a GPU beside the library's products.
std::function<void(std::ostream& out)> addBenchGemm(CLI::App& app);

/// moeblaze-bench's main, callable from tests.
int runBench(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze
