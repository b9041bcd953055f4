#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <numeric>

#include "core/command_options.h"
#include "core/error.h"
#include "core/interrupt.h"
#include "core/program.h"
#include "kernels/bench.h"
#include "kernels/executor.h"

namespace moeblaze {
namespace {

struct Options {
  LayerOptions layer;
  OutputOptions output;
  std::string systems = "moeblaze,megablocks";
  std::string backend = "host";
  std::string dtype;
  std::string repeat = "3";
};

constexpr std::array<std::string_view, 1> kBackends{"host"};
constexpr int64_t kMostRepeats = 1000;

struct Timing {
  int64_t forwardNs = 0, backwardNs = 0;
};

Timing timingOf(const Plan& plan, const Execution& execution) {
  Timing timing;
  for (size_t i = 0; i < plan.steps.size(); ++i)
    (plan.steps[i].phase == Phase::forward ? timing.forwardNs : timing.backwardNs) += execution.stepNs[i];
  return timing;
}

double medianMs(std::vector<int64_t> times) {
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return static_cast<double>(times[times.size() / 2]) / 1e6;
}

Record measure(const Plan& plan, const LayerInputs& inputs, int64_t repeats) {
  std::vector<int64_t> forward, backward;
  int64_t observedPeak = 0;
  for (int64_t i = 0; i < repeats; ++i) {
    const Execution execution = executeOnHost(plan, inputs);
    const Timing timing = timingOf(plan, execution);
    forward.push_back(timing.forwardNs);
    backward.push_back(timing.backwardNs);
    observedPeak = *std::ranges::max_element(execution.observedPerStep);
  }
  double flops = 0;
  for (const Step& step : plan.steps) flops += step.flops;
  const double forwardMs = medianMs(forward), backwardMs = medianMs(backward);
  const Waste waste = wasteOf(plan);
  return {{"config", plan.config.name},
          {"system", plan.system},
          {"backend", "host"},
          {"dtype", name(plan.config.dtype)},
          {"tokens", plan.config.tokens},
          {"repeats", repeats},
          {"forward_ms", forwardMs},
          {"backward_ms", backwardMs},
          {"gflops", flops / (forwardMs + backwardMs) / 1e6},
          {"planned_peak_bytes", memoryFigures(plan).peak},
          {"observed_peak_bytes", observedPeak},
          {"padded_rows", waste.paddedRows},
          {"dropped_slots", waste.droppedSlots}};
}

/// Throws DeviceError when this machine plainly cannot hold the run: the Plan's buffers, what is given beside them, and
/// both in fp64 as the executor takes and returns them.
void checkMemory(const Plan& plan) {
  int64_t bytes = memoryFigures(plan).peak;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.external) bytes += buffer.bytes + 2 * buffer.shape.count() * sizeOf(DType::fp64);
  const int64_t present = static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  if (bytes > present)
    throw DeviceError(
        fmt::format("{} under {} needs about {} and this machine has {}; give fewer --tokens or a smaller layer",
                    plan.config.name, plan.system, bytesText(bytes), bytesText(present)));
}

DType parseDType(const std::string& text) {
  std::vector<std::string_view> names;
  for (DType dtype : kFloatDTypes) {
    if (text == name(dtype)) return dtype;
    names.push_back(name(dtype));
  }
  throw InputError("--dtype " + quote(text) + " is unknown" + didYouMean(text, names) +
                   " (allowed: " + listNames(names) + ")");
}

void run(const Options& options, std::ostream& out) {
  options.output.format();
  if (std::ranges::find(kBackends, options.backend) == kBackends.end())
    throw InputError("--backend " + quote(options.backend) + " is unknown" + didYouMean(options.backend, kBackends) +
                     " (allowed: " + listNames(kBackends) + ")");
  ConfigSource source = options.layer.load();
  if (!options.dtype.empty()) source.layer.dtype = parseDType(options.dtype);
  if (source.layer.dtype == DType::fp64) source.layer.gateDtype = DType::fp64;
  const int64_t repeats = parseCount("--repeat", options.repeat, 1, kMostRepeats);
  const Routing routing = parseRouting(options.layer.routing, source.layer);
  const std::vector<System> chosen = parseSystems(options.systems);
  std::vector<Plan> plans;  // all of them first: a wrong parameter should not cost a run
  for (const System& system : chosen) plans.push_back(buildPlan(source.layer, routing, system));

  for (const Plan& plan : plans) checkMemory(plan);

  const InterruptWatch watch;
  std::cerr << "making inputs\n";
  const LayerInputs inputs = makeInputs(source.layer, routing, 1);
  std::vector<Record> records;
  try {
    for (size_t i = 0; i < plans.size(); ++i) {
      std::cerr << fmt::format("running {} ({} of {}), {} times\n", plans[i].system, i + 1, plans.size(), repeats);
      records.push_back(measure(plans[i], inputs, repeats));
    }
  } catch (const Interrupted&) {
    std::cerr << fmt::format("stopping; {} of {} systems were measured\n", records.size(), plans.size());
  }
  const auto text = [&](bool markdown) {
    return describeLayer(source) + "\nrouting " + routing.text() + "; on this machine's CPU\n\n" +
           textTable(records,
                     {{"system", "system"},
                      {"forward_ms", "fwd ms", Unit::milliseconds},
                      {"backward_ms", "bwd ms", Unit::milliseconds},
                      {"gflops", "GFLOP/s", Unit::number},
                      {"planned_peak_bytes", "planned peak", Unit::bytes},
                      {"observed_peak_bytes", "observed peak", Unit::bytes},
                      {"padded_rows", "padded rows", Unit::count},
                      {"dropped_slots", "dropped slots", Unit::count}},
                     markdown);
  };
  options.output.emit(records, text, out);
  InterruptWatch::check();
}

}  // namespace

std::function<void(std::ostream& out)> addBenchLayer(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "layer", "Runs a layer's forward and backward as each system's Plan: times, planned and observed peak");
  options->layer.addTo(*command);
  addSystems(*command, options->systems);
  command->add_option("--backend", options->backend, "Where it runs: host")
      ->capture_default_str()
      ->type_name("BACKEND");
  command->add_option("--dtype", options->dtype, "bf16, fp16, fp32 or fp64 (default: the config's)")
      ->type_name("DTYPE");
  addRepeat(*command, options->repeat);
  options->output.addTo(*command);
  return [options](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
