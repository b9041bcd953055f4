#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "core/base/median.h"
#include "core/command/command_options.h"
#include "core/command/program.h"
#include "kernels/bench/bench.h"
#include "profiler/commands/commands.h"
#include "profiler/commands/launch.h"
#include "profiler/overhead/overhead.h"
#include "profiler/overhead/temporary_folder.h"
#include "profiler/planned/profile_cuda.h"

namespace moeblaze::profiler {
namespace {

/// Processes for each way of recording. The ways take turns, because a GPU's clocks change over time.
constexpr int kProcesses = 4;
constexpr std::array kWays{Watched::notAtAll, Watched::memoryOnly, Watched::fully};

struct Options {
  LayerOptions layer;
  std::string system = "moeblaze", device = "0", repeat = "10", only;
  OutputOptions output;
};

Watched parseWatched(const std::string& text) {
  std::vector<std::string_view> names;
  for (Watched way : kWays) {
    if (text == name(way)) return way;
    names.push_back(name(way));
  }
  refuseName("--only", text, names);
}

/// Starts this program again to time one way in a process of its own. Throws DeviceError when that fails.
Record timeElsewhere(const Options& options, Watched way, const TemporaryFolder& folder) {
  const std::string file = folder.file("times.json");
  std::vector<std::string> command{std::filesystem::read_symlink("/proc/self/exe").string(),
                                   "bench",
                                   options.layer.config,
                                   "--routing",
                                   options.layer.routing,
                                   "--system",
                                   options.system,
                                   "--device",
                                   options.device,
                                   "--repeat",
                                   options.repeat,
                                   "--only",
                                   std::string(name(way)),
                                   "--format",
                                   "json",
                                   "-o",
                                   file};
  const auto pass = [&](const char* option, const std::string& value) {
    if (!value.empty()) command.insert(command.end(), {option, value});
  };
  pass("--tokens", options.layer.tokens);
  pass("--batch", options.layer.batch);
  pass("--seq", options.layer.seq);
  pass("--activation", options.layer.activation);
  const Ended ended = launch(
      command, [](int32_t) { return std::vector<std::string>{}; }, [] {});
  if (ended.status == kExitInterrupted) throw Interrupted();
  if (ended.status != 0)
    throw DeviceError(fmt::format("timing in a process of its own ended with status {}", ended.status));
  std::ifstream in(file);
  return Record::parse(in).at(0);
}

Record rowOf(const char* what, Watched way, double withoutUs, double recordedUs) {
  return {{"what", what},
          {"recorded", name(way)},
          {"without_us", withoutUs},
          {"recorded_us", recordedUs},
          {"more_us", recordedUs - withoutUs},
          {"more_percent", 100 * (recordedUs / withoutUs - 1)}};
}

/// The rows of the comparison, and whether a request to stop ended it early.
struct Compared {
  std::vector<Record> rows;
  bool interrupted = false;
};

Compared compareWays(const Options& options) {
  const TemporaryFolder folder;
  std::map<Watched, std::vector<double>> launches, steps;
  Compared compared;
  try {
    for (int i = 0; i < kProcesses; ++i)
      for (Watched way : kWays) {
        InterruptWatch::check();
        std::cerr << fmt::format("process {} of {}, recorded: {}\n", i + 1, kProcesses, name(way));
        const Record times = timeElsewhere(options, way, folder);
        launches[way].push_back(times.at("launch_us"));
        steps[way].push_back(times.at("step_us"));
      }
  } catch (const Interrupted&) {
    if (launches.size() < kWays.size()) throw;
    compared.interrupted = true;
  }
  for (Watched way : {Watched::memoryOnly, Watched::fully}) {
    compared.rows.push_back(rowOf("empty kernel", way, median(launches[Watched::notAtAll]), median(launches[way])));
    compared.rows.push_back(rowOf("training step", way, median(steps[Watched::notAtAll]), median(steps[way])));
  }
  return compared;
}

std::string textOf(const std::vector<Record>& rows, bool markdown) {
  return textTable(rows,
                   {{"what", "what"},
                    {"recorded", "recorded"},
                    {"without_us", "without µs", Unit::number},
                    {"recorded_us", "recorded µs", Unit::number},
                    {"more_us", "more µs", Unit::number},
                    {"more_percent", "more %", Unit::number}},
                   markdown);
}

int timeThisProcess(const Options& options, Watched way, const Plan& plan, const Routing& routing, int device,
                    int64_t rounds, std::ostream& out) {
  const WatchedTimes times = timeWatched(plan, routing, device, way, rounds);
  const std::vector<Record> rows{
      {{"recorded", name(way)}, {"launch_us", times.launchNs / 1e3}, {"step_us", times.stepNs / 1e3}}};
  options.output.emit(
      rows,
      [&](bool markdown) {
        return textTable(rows,
                         {{"recorded", "recorded"},
                          {"launch_us", "empty kernel µs", Unit::number},
                          {"step_us", "step µs", Unit::number}},
                         markdown);
      },
      out);
  return 0;
}

int run(const Options& options, std::ostream& out) {
  options.output.format();
  if (!options.output.file.empty()) expectFolderOf(options.output.file);
  const ConfigSource source = options.layer.load();
  const Routing routing = parseRouting(options.layer.routing, source.layer);
  const Plan plan = buildPlan(source.layer, routing, System::parse(options.system));
  const auto device = static_cast<int>(parseCount("--device", options.device, 0, kMaxDevices));
  const int64_t rounds = parseCount("--repeat", options.repeat, 1, kMaxRepeats);
  const InterruptWatch watch;
  if (!options.only.empty())
    return timeThisProcess(options, parseWatched(options.only), plan, routing, device, rounds, out);
  const std::string gpu = gpuName(device);
  const Compared compared = compareWays(options);
  options.output.emit(
      compared.rows,
      [&](bool markdown) {
        return fmt::format("{}\n{} on {}; medians of processes in turn\n\n", describeLayer(source), plan.system, gpu) +
               textOf(compared.rows, markdown);
      },
      out);
  if (compared.interrupted) throw Interrupted();
  return 0;
}

}  // namespace

ProfilerCommand addBench(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "What being recorded costs: launches, and a layer's training step");
  options->layer.addTo(*command);
  command->add_option("--system", options->system, "What runs the step")->capture_default_str()->type_name("SYSTEM");
  command->add_option("--device", options->device, "GPU to run on")->capture_default_str()->type_name("N");
  command->add_option("--only", options->only, "Time this process alone, recorded so: none, memory-only or full")
      ->type_name("WAY");
  addRepeat(*command, options->repeat);
  options->output.addTo(*command);
  return [options](std::ostream& out) { return run(*options, out); };
}

}  // namespace moeblaze::profiler
