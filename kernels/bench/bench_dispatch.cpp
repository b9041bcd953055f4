#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "core/command/command_options.h"
#include "core/command/program.h"
#include "kernels/bench/bench.h"
#include "kernels/cuda/dispatch/dispatch_run.h"

namespace moeblaze {
namespace {

struct Options {
  OutputOptions output;
  std::string shapes = "65536x4x16,65536x8x256,1048576x8x64";
  GpuOptions gpu;
  std::string repeat = "50";
};

/// The highest --repeat of this command. Builds are short, so that it is higher than kMaxRepeats.
constexpr int64_t kMaxDispatchRepeats = 100'000;

/// Parses "LxKxE,...": the tokens, choices and experts of each shape.
std::vector<cuda::DispatchShape> parseShapes(const std::string& text) {
  std::vector<cuda::DispatchShape> shapes;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    const auto parts = CLI::detail::split(word, 'x');
    if (parts.size() != 3) throw InputError("--shapes " + quote(word) + " is not LxKxE, as in 65536x4x16");
    cuda::DispatchShape shape;
    shape.experts = static_cast<int32_t>(parseCount("--shapes experts", parts[2], 1, cuda::kMaxDispatchExperts));
    shape.topK =
        static_cast<int32_t>(parseCount("--shapes top_k", parts[1], 1, std::min<int64_t>(shape.experts, kMaxTopK)));
    shape.tokens = parseCount("--shapes tokens", parts[0], 1, kMaxRows / shape.topK);
    shapes.push_back(shape);
  }
  return shapes;
}

void run(const Options& options, std::ostream& out) {
  options.output.format();
  const std::vector<cuda::DispatchShape> shapes = parseShapes(options.shapes);
  const int64_t repeats = parseCount("--repeat", options.repeat, 1, kMaxDispatchRepeats);
  const cuda::DispatchBench bench(options.gpu.number());
  std::vector<Record> records;
  for (const cuda::DispatchShape& shape : shapes) {
    const std::vector<cuda::DispatchTiming> timings = bench.measure(shape, repeats);
    for (const cuda::DispatchTiming& timing : timings)
      records.push_back({{"gpu", bench.gpu()},
                         {"tokens", shape.tokens},
                         {"top_k", shape.topK},
                         {"experts", shape.experts},
                         {"method", name(timing.method)},
                         {"repeats", repeats},
                         {"microseconds", timing.medianUs},
                         {"least_microseconds", timing.leastUs},
                         {"workspace_bytes", static_cast<int64_t>(timing.workspaceBytes)},
                         {"ratio_to_sort", timing.medianUs / timings.back().medianUs}});
  }
  const auto text = [&](bool markdown) {
    return bench.gpu() + "; medians, methods in turn within each repeat, random routing\n\n" +
           textTable(records,
                     {{"tokens", "tokens", Unit::count},
                      {"top_k", "top_k", Unit::count},
                      {"experts", "experts", Unit::count},
                      {"method", "method"},
                      {"microseconds", "µs", Unit::number},
                      {"least_microseconds", "least µs", Unit::number},
                      {"workspace_bytes", "workspace", Unit::bytes},
                      {"ratio_to_sort", "of sort", Unit::ratio}},
                     markdown);
  };
  options.output.emit(records, text, out);
}

}  // namespace

std::function<void(std::ostream& out)> addBenchDispatch(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("dispatch", "Index structures built on a GPU: single kernel, the paper's steps, radix sort");
  command->add_option("--shapes", options->shapes, "Shapes LxKxE separated by commas: tokens, top_k, experts")
      ->capture_default_str()
      ->type_name("LIST");
  options->gpu.addDevice(*command);
  addRepeat(*command, options->repeat);
  options->output.addTo(*command);
  return [options](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
