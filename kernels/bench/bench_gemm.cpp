#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "core/base/interrupt.h"
#include "core/command/command_options.h"
#include "core/command/program.h"
#include "core/systems/system.h"
#include "kernels/bench/bench.h"
#include "kernels/bench/bench_gpu.h"

namespace moeblaze {
namespace {

struct Options {
  LayerOptions layer;
  OutputOptions output;
  std::string system = "moeblaze";
  GpuOptions gpu;
  std::string repeat = "20";
};

void run(const Options& options, std::ostream& out) {
  options.output.format();
  const ConfigSource source = options.layer.load();
  const int64_t repeats = parseCount("--repeat", options.repeat, 1, kMaxRepeats);
  const Routing routing = parseRouting(options.layer.routing, source.layer);
  const std::vector<Plan> plans{buildPlan(source.layer, routing, System::parse(options.system))};
  const GpuBench bench{.plans = plans,
                       .bare = plans.front(),
                       .routing = routing,
                       .device = options.gpu.number(),
                       .repeats = repeats,
                       .portable = options.gpu.portable};
  std::cerr << fmt::format("running {} under {}, {} times\n", source.layer.name, plans.front().system, repeats);
  const InterruptWatch watch;
  const std::vector<Record> records = benchProductsOnGpu(bench);
  const auto text = [&](bool markdown) {
    return describeLayer(source) + "\n" + plans.front().system + ", routing " + routing.text() +
           "; medians; every Step in turn with the same products by cuBLAS, an expert each\n\n" +
           textTable(records,
                     {{"step", "Step"},
                      {"step_ms", "ms", Unit::milliseconds},
                      {"step_tflops", "TFLOP/s", Unit::number},
                      {"gb_per_s", "GB/s", Unit::number},
                      {"cublas_ms", "cuBLAS ms", Unit::milliseconds},
                      {"cublas_over_step", "cuBLAS ÷ this", Unit::ratio},
                      {"cublas_8192_tflops", "cuBLAS 8192³ TFLOP/s", Unit::number}},
                     markdown);
  };
  options.output.emit(records, text, out);
  InterruptWatch::check();
}

}  // namespace

std::function<void(std::ostream& out)> addBenchGemm(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("gemm", "Each Step of a layer on a GPU, its products beside cuBLAS's of the same shape");
  options->layer.addTo(*command);
  command->add_option("--system", options->system, "A system, as moeblaze-sim takes it")
      ->capture_default_str()
      ->type_name("SYSTEM");
  options->gpu.addDevice(*command);
  command->add_flag("--portable", options->gpu.portable,
                    "Kernels that any GPU from sm_80 on runs, not those for this one");
  addRepeat(*command, options->repeat);
  options->output.addTo(*command);
  return [options](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
