#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <numeric>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "core/base/median.h"
#include "core/command/command_options.h"
#include "core/command/program.h"
#include "kernels/bench/bench.h"
#include "kernels/bench/bench_gpu.h"
#include "kernels/host/executor.h"
#include "traces/store/store.h"

namespace moeblaze {
namespace {

struct Options {
  LayerOptions layer;
  OutputOptions output;
  GpuOptions gpu;
  std::string systems = "moeblaze,megablocks";
  std::string backend = "host";
  std::string dtype;
  std::string repeat = "";
  std::string trace;
  bool forwardOnly = false;
};

constexpr std::array<std::string_view, 2> kBackends{"host", "cuda"};
/// Repeats unless the user says otherwise. A GPU gets more because its runs are short and its clocks move.
constexpr int64_t kHostRepeats = 3, kCudaRepeats = 20;

struct Timing {
  int64_t forwardNs = 0, backwardNs = 0;
};

Timing timingOf(const Plan& plan, const Execution& execution) {
  Timing timing;
  for (size_t i = 0; i < plan.steps.size(); ++i)
    (plan.steps[i].phase == Phase::forward ? timing.forwardNs : timing.backwardNs) += execution.stepNs[i];
  return timing;
}

double medianMs(const std::vector<int64_t>& times) { return static_cast<double>(median(times)) / 1e6; }

/// Measures the Plan on the host. The last run's trace is written to `traceFile` unless that is empty.
Record measure(const Plan& plan, const LayerInputs& inputs, int64_t repeats, const std::string& traceFile) {
  std::vector<int64_t> forward, backward;
  int64_t observedPeak = 0;
  for (int64_t i = 0; i < repeats; ++i) {
    const Execution execution = executeOnHost(plan, inputs);
    const Timing timing = timingOf(plan, execution);
    forward.push_back(timing.forwardNs);
    backward.push_back(timing.backwardNs);
    observedPeak = *std::ranges::max_element(execution.observedPerStep);
    if (i + 1 == repeats && !traceFile.empty()) writeTrace(execution.trace, traceFile);
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

DType parseDType(const std::string& text) {
  std::vector<std::string_view> names;
  for (DType dtype : kFloatDTypes) {
    if (text == name(dtype)) return dtype;
    names.push_back(name(dtype));
  }
  refuseName("--dtype", text, names);
}

/// One layer, and the Plans that it is run as.
struct Layer {
  ConfigSource source;
  Routing routing;
  std::vector<Plan> plans;
};

/// The layers that CONFIG names; `paper` stands for the paper's seven shapes.
std::vector<Layer> layersOf(const Options& options, const std::vector<System>& chosen) {
  std::vector<std::string> names;
  for (const ConfigSource& source : namedConfigs())
    if (options.layer.config == "paper" && source.layer.name.starts_with("conf")) names.push_back(source.layer.name);
  if (names.empty()) names.push_back(options.layer.config);
  std::vector<Layer> layers;
  for (const std::string& name : names) {
    LayerOptions one = options.layer;
    one.config = name;
    ConfigSource source = one.load();
    if (!options.dtype.empty()) source.layer.dtype = parseDType(options.dtype);
    if (source.layer.dtype == DType::fp64) source.layer.gateDtype = DType::fp64;
    Layer layer{source, parseRouting(one.routing, source.layer), {}};
    for (const System& system : chosen) layer.plans.push_back(buildPlan(source.layer, layer.routing, system));
    layers.push_back(std::move(layer));
  }
  return layers;
}

void runOnHost(const Layer& layer, const Options& options, int64_t repeats, std::vector<Record>& records) {
  for (const Plan& plan : layer.plans) checkHostMemory(plan);
  std::cerr << "making inputs\n";
  const LayerInputs inputs = makeInputs(layer.source.layer, layer.routing, 1);
  for (const Plan& plan : layer.plans) {
    std::cerr << fmt::format("running {} under {}, {} times\n", plan.config.name, plan.system, repeats);
    records.push_back(measure(plan, inputs, repeats, options.trace));
  }
}

void runOnCuda(const Layer& layer, const Options& options, int64_t repeats, std::vector<Record>& records) {
  std::cerr << fmt::format("running {} on the GPU, {} times\n", layer.source.layer.name, repeats);
  const Plan bare = buildPlan(layer.source.layer, layer.routing, System::parse("moeblaze"));
  const GpuBench bench{.plans = layer.plans,
                       .bare = bare,
                       .routing = layer.routing,
                       .device = options.gpu.number(),
                       .repeats = repeats,
                       .forwardOnly = options.forwardOnly,
                       .portable = options.gpu.portable};
  for (Record& record : benchLayerOnGpu(bench)) records.push_back(std::move(record));
}

std::string hostText(const std::vector<Record>& records, bool markdown) {
  return "on this machine's CPU\n\n" + textTable(records,
                                                 {{"config", "config"},
                                                  {"system", "system"},
                                                  {"forward_ms", "fwd ms", Unit::milliseconds},
                                                  {"backward_ms", "bwd ms", Unit::milliseconds},
                                                  {"gflops", "GFLOP/s", Unit::number},
                                                  {"planned_peak_bytes", "planned peak", Unit::bytes},
                                                  {"observed_peak_bytes", "observed peak", Unit::bytes},
                                                  {"padded_rows", "padded rows", Unit::count},
                                                  {"dropped_slots", "dropped slots", Unit::count}},
                                                 markdown);
}

std::string cudaText(const std::vector<Record>& records, bool markdown) {
  const std::string gpu = records.empty() ? "GPU" : records.front().at("gpu").get<std::string>();
  return "on " + gpu +
         "; medians, everything in turn within each round; bare: the same products alone, each expert by cuBLAS\n\n" +
         textTable(records,
                   {{"config", "config"},
                    {"system", "system"},
                    {"forward_ms", "fwd ms", Unit::milliseconds},
                    {"backward_ms", "bwd ms", Unit::milliseconds},
                    {"step_tflops", "TFLOP/s", Unit::number},
                    {"traffic_gb_per_s", "GB/s", Unit::number},
                    {"bare_over_step", "bare ÷ this", Unit::ratio},
                    {"tflops_over_cublas", "of cuBLAS 8192³", Unit::ratio},
                    {"cublas_8192_tflops", "cuBLAS TFLOP/s", Unit::number},
                    {"planned_peak_bytes", "planned peak", Unit::bytes},
                    {"hidden_bytes", "library scratch", Unit::bytes}},
                   markdown);
}

void run(const Options& options, std::ostream& out) {
  options.output.format();
  if (std::ranges::find(kBackends, options.backend) == kBackends.end())
    refuseName("--backend", options.backend, kBackends);
  const bool cuda = options.backend == "cuda";
  if (options.forwardOnly && !cuda) throw InputError("--forward needs --backend cuda; the host runs whole steps");
  const int64_t repeats = options.repeat.empty() ? (cuda ? kCudaRepeats : kHostRepeats)
                                                 : parseCount("--repeat", options.repeat, 1, kMaxRepeats);
  // All Plans are built first, because a wrong parameter should not cost a run.
  const std::vector<Layer> layers = layersOf(options, parseSystems(options.systems));
  if (!options.trace.empty() && (cuda || layers.size() * layers.front().plans.size() != 1))
    throw InputError("--trace needs --backend host, one config and one system");

  const InterruptWatch watch;
  std::vector<Record> records;
  try {
    for (const Layer& layer : layers) {
      InterruptWatch::check();
      if (cuda) {
        runOnCuda(layer, options, repeats, records);
      } else {
        runOnHost(layer, options, repeats, records);
      }
    }
  } catch (const Interrupted&) {
    std::cerr << fmt::format("stopping; {} results were measured in full\n", records.size());
  }
  const auto text = [&](bool markdown) {
    const std::string layer = layers.size() == 1 ? describeLayer(layers.front().source) + "\n" : "";
    const std::string routing = "routing " + layers.front().routing.text() + "; ";
    return layer + routing + (cuda ? cudaText(records, markdown) : hostText(records, markdown));
  };
  options.output.emit(records, text, out);
  InterruptWatch::check();
}

}  // namespace

std::function<void(std::ostream& out)> addBenchLayer(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "layer",
      "Runs a layer's forward and backward as each system's Plan, on the CPU or a GPU (CONFIG paper: all seven)");
  options->layer.addTo(*command);
  addSystems(*command, options->systems);
  command->add_option("--backend", options->backend, "Where it runs: host or cuda")
      ->capture_default_str()
      ->type_name("BACKEND");
  command->add_option("--dtype", options->dtype, "bf16, fp16, fp32 or fp64 (default: the config's)")
      ->type_name("DTYPE");
  options->gpu.addDevice(*command);
  command->add_flag("--portable", options->gpu.portable,
                    "Kernels that any GPU from sm_80 on runs, not those for this one (cuda)");
  command->add_flag("--forward", options->forwardOnly, "Forward only (cuda)");
  command
      ->add_option("--trace", options->trace, "Also write the last run, planned and observed, there (.mbtrace; host)")
      ->type_name("FILE");
  addRepeat(*command, options->repeat);
  options->output.addTo(*command);
  return [options](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
