#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <ostream>

namespace moeblaze {

/// Highest --repeat and --device that benches take.
inline constexpr int64_t kMostRepeats = 1000, kMostDevices = 1023;

/// `plan`: how many simulations a second one core does.
std::function<void(std::ostream& out)> addBenchPlan(CLI::App& app);

/// `layer`: a layer executed as each system's Plan.
std::function<void(std::ostream& out)> addBenchLayer(CLI::App& app);

/// `dispatch`: index structures built on a GPU, three ways.
std::function<void(std::ostream& out)> addBenchDispatch(CLI::App& app);

/// `gemm`: each Step of a layer on a GPU beside the library's products.
std::function<void(std::ostream& out)> addBenchGemm(CLI::App& app);

/// moeblaze-bench's main, callable from tests.
int runBench(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace moeblaze
