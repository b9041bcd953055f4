#include <fmt/format.h>

#include <tuple>

#include "core/systems/system.h"
#include "simulator/commands/allocator_option.h"
#include "simulator/commands/chart.h"
#include "simulator/commands/commands.h"
#include "simulator/commands/options.h"
#include "simulator/cost/simulation.h"
#include "traces/store/store.h"

namespace moeblaze {
namespace {

struct Options {
  void addTo(CLI::App& command) {
    input.addTo(command);
    command.add_option("--system", system, "System, parameters after colons: momoe:save=100 (see: list systems)")
        ->capture_default_str()
        ->type_name("SYSTEM");
    allocator.addTo(command);
    command.add_option("--trace", trace, "Also write the planned timeline there (.mbtrace)")->type_name("FILE");
    output.addTo(command);
  }

  InputOptions input;
  std::string system = "moeblaze";
  AllocatorOption allocator;
  std::string trace;
  OutputOptions output;
};

std::string heading(const std::string& text, bool markdown) {
  return markdown ? "\n### " + text + "\n\n" : "\n" + text + "\n";
}

std::string figures(const Record& record, bool markdown) {
  const std::vector<std::tuple<const char*, const char*, Unit, const char*>> lines{
      {"saved", "saved_bytes", Unit::bytes, "held from the end of forward for backward"},
      {"intermediates", "intermediates_bytes", Unit::bytes, "the part of it between the two MLPs"},
      {"index", "index_bytes", Unit::bytes, "the part of it that is index structures"},
      {"peak", "peak_bytes", Unit::bytes, "most alive at once above parameters, x and the output gradient"},
      {"workspace", "workspace_bytes", Unit::bytes, "library scratch"},
      {"router", "router_bytes", Unit::bytes, "the router's own saved tensors; counted only with --with-router"},
      {"parameters", "weight_bytes", Unit::bytes, "and as much again for their gradients"},
      {"padded rows", "padded_rows", Unit::count, "rows that serve no token"},
      {"dropped slots", "dropped_slots", Unit::count, "token and expert pairs beyond an expert's capacity"},
      {"forward ms", "forward_ms", Unit::milliseconds, "predicted"},
      {"backward ms", "backward_ms", Unit::milliseconds, "predicted"},
      {"forward TFLOP/s", "forward_tflops", Unit::number, ""},
      {"traffic", "traffic_bytes", Unit::bytes, "read and written, forward and backward"},
      {"fits", "fits", Unit::text, "peak + parameters + their gradients within the GPU's memory"},
      {"allocator", "allocator", Unit::text, "who serves the buffers that make up the peak"},
      {"allocated", "allocated_peak_bytes", Unit::bytes, "most in its blocks, rounded up as it does"},
      {"reserved", "reserved_peak_bytes", Unit::bytes, "most it takes from the GPU for them"},
      {"fragmentation", "fragmentation_bytes", Unit::bytes, "reserved but not allocated when reserved is at its most"},
  };
  std::vector<Record> rows;
  for (const auto& [label, key, unit, meaning] : lines)
    if (record.contains(key))
      rows.push_back({{"figure", label}, {"value", cellText(record, {key, "", unit})}, {"meaning", meaning}});
  return textTable(rows, {{"figure", "figure"}, {"value", "value", Unit::number}, {"meaning", "meaning"}}, markdown);
}

std::string shapeText(const Shape& shape) {
  std::string text = "[";
  for (int64_t extent : shape.extents()) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::string peakBreakdown(const Simulation& s, bool markdown) {
  const Plan& plan = s.plan;
  const Step& at = plan.steps[s.memory.peakStep];
  std::vector<Record> rows;
  for (BufferId id : liveAt(plan, s.memory.peakStep)) {
    const Buffer& buffer = plan.buffer(id);
    rows.push_back(
        {{"buffer", buffer.name},
         {"bytes", buffer.bytes},
         {"share",
          fmt::format("{:.1f} %", 100.0 * static_cast<double>(buffer.bytes) / static_cast<double>(s.memory.peak))},
         {"role", name(buffer.role)},
         {"shape", shapeText(buffer.shape)},
         {"dtype", name(buffer.dtype)},
         {"since", buffer.role == Role::input ? "before the step" : plan.steps[buffer.lifetime.first].name}});
  }
  return heading(fmt::format("Peak {} in {} Step {}: what is alive", bytesText(s.memory.peak), name(at.phase), at.name),
                 markdown) +
         textTable(rows,
                   {{"buffer", "buffer"},
                    {"bytes", "bytes", Unit::bytes},
                    {"share", "share", Unit::number},
                    {"role", "role"},
                    {"shape", "shape"},
                    {"dtype", "dtype"},
                    {"since", "since Step"}},
                   markdown);
}

std::string stepTable(const Simulation& s, bool markdown) {
  const std::vector<int64_t> alive = bytesPerStep(s.plan);
  std::vector<Record> rows;
  for (size_t i = 0; i < s.plan.steps.size(); ++i) {
    const Step& step = s.plan.steps[i];
    if (step.op == Op::release) continue;
    rows.push_back({{"phase", name(step.phase)},
                    {"step", step.name},
                    {"op", name(step.op)},
                    {"ms", static_cast<double>(s.stepNs[i]) / 1e6},
                    {"gflop", step.flops / 1e9},
                    {"read", step.bytesRead},
                    {"written", step.bytesWritten},
                    {"alive", alive[i]}});
  }
  return heading("Steps: predicted time, arithmetic, traffic, planned bytes alive", markdown) +
         textTable(rows,
                   {{"phase", "phase"},
                    {"step", "step"},
                    {"op", "op"},
                    {"ms", "ms", Unit::milliseconds},
                    {"gflop", "GFLOP", Unit::number},
                    {"read", "read", Unit::bytes},
                    {"written", "written", Unit::bytes},
                    {"alive", "alive", Unit::bytes}},
                   markdown);
}

std::string curve(const Simulation& s, bool markdown) {
  const Trace trace = makeTrace(s.plan, s.stepNs);
  const std::string chart = drawMemoryCurve(MemoryCurve(trace, TrackId{0}), s.forwardNs + s.backwardNs, s.forwardNs);
  return heading("Memory over the step", markdown) + (markdown ? "```\n" + chart + "```\n" : chart);
}

void run(const Options& options, std::ostream& out) {
  const System system = System::parse(options.system);
  const AllocatorModel allocator = options.allocator.model();
  const Inputs inputs(options.input);
  const Simulation s =
      simulate(inputs.source.layer, inputs.routing, system, inputs.machine, {options.input.withRouter});
  Record record = toRecord(s);
  addAllocatorFigures(record, s, allocator);
  const auto text = [&](bool markdown) {
    return (markdown ? "## " + s.plan.system + "\n\n" : s.plan.system + " · ") + inputs.describe() + "\n" +
           figures(record, markdown) + curve(s, markdown) + peakBreakdown(s, markdown) + stepTable(s, markdown);
  };
  if (!options.trace.empty()) writeTrace(makeTrace(s.plan, s.stepNs), options.trace);
  options.output.emit({record}, text, out);
}

}  // namespace

CommandBody addSimulate(CLI::App& app) {
  return addCommand(app, "simulate", "One system's layer: figures, memory curve, peak by buffer, every Step", run);
}

}  // namespace moeblaze
