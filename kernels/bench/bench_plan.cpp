#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/base/error.h"
#include "core/systems/system.h"
#include "kernels/bench/bench.h"

namespace moeblaze {
namespace {

struct Options {
  std::string config = "conf3";
  std::string system = "moeblaze";
  double seconds = 1.0;
  bool json = false;
};

constexpr int kBlock = 1000;
constexpr double kMinSeconds = 0.01, kMaxSeconds = 600;

/// Seconds that one block of simulations takes: routing, Plan, lifetimes and figures, with nothing kept between them.
double timeBlock(const MoeConfig& config, const System& system, int64_t& peak) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kBlock; ++i) {
    const Plan plan = buildPlan(config, Routing::balanced(config), system);
    peak = std::max(peak, memoryFigures(plan).peak);
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void run(const Options& options, std::ostream& out) {
  if (!(options.seconds >= kMinSeconds && options.seconds <= kMaxSeconds))
    throw InputError(
        fmt::format("--seconds {} is out of range; allowed: {} to {}", options.seconds, kMinSeconds, kMaxSeconds));
  const MoeConfig config = loadConfig(options.config).layer;
  const System system = System::parse(options.system);
  std::vector<double> blocks;
  int64_t peak = 0;
  for (double total = 0; total < options.seconds; total += blocks.back())
    blocks.push_back(timeBlock(config, system, peak));
  std::nth_element(blocks.begin(), blocks.begin() + blocks.size() / 2, blocks.end());
  const double perSecond = kBlock / blocks[blocks.size() / 2];
  if (options.json) {
    const nlohmann::ordered_json record{{"config", config.name},
                                        {"system", system.text()},
                                        {"simulations", static_cast<int64_t>(blocks.size()) * kBlock},
                                        {"simulations_per_second", perSecond},
                                        {"peak_bytes", peak}};
    out << nlohmann::ordered_json::array({record}).dump(2) << "\n";
    return;
  }
  out << fmt::format(
      "plan {} {}: {:.0f} simulations/s on one core (median of {} blocks of {}; Plan, lifetimes, peak)\n", config.name,
      system.text(), perSecond, blocks.size(), kBlock);
}

}  // namespace

std::function<void(std::ostream& out)> addBenchPlan(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("plan", "Simulations per second on one core: Plan, lifetimes and peak, nothing cached");
  command->add_option("config", options->config, "A config, as moeblaze-sim takes it")
      ->capture_default_str()
      ->type_name("CONFIG");
  command->add_option("--system", options->system, "A system, as moeblaze-sim takes it")
      ->capture_default_str()
      ->type_name("SYSTEM");
  command->add_option("--seconds", options->seconds, "How long to measure")->capture_default_str()->type_name("S");
  command->add_flag("--json", options->json, "Print an array with one object");
  return [options](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
