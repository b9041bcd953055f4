#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "kernels/host/executor.h"
#include "profiler/commands/commands.h"
#include "profiler/commands/run_options.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {
namespace {

struct Options {
  LayerOptions layer;
  WhereOptions where;
  OutputOptions output;
  std::string system = "moeblaze";
  std::string trace;
};

Record msOf(int64_t ns) { return ns > 0 ? Record(static_cast<double>(ns) / 1e6) : Record(); }

std::vector<Record> bufferRows(const PlanComparison& comparison) {
  std::vector<Record> rows;
  for (const BufferComparison& row : comparison.buffers)
    rows.push_back({{"buffer", row.name},
                    {"role", name(row.role)},
                    {"planned_bytes", row.plannedBytes},
                    {"observed_bytes", row.observedBytes},
                    {"allocations", row.observed},
                    {"equal", row.matches}});
  return rows;
}

std::vector<Record> hiddenRows(const PlanComparison& comparison) {
  std::vector<Record> rows;
  for (const HiddenAllocation& row : comparison.hidden)
    rows.push_back({{"allocation", row.name}, {"bytes", row.bytes}, {"count", row.count}});
  return rows;
}

std::vector<Record> stepRows(const PlanComparison& comparison) {
  std::vector<Record> rows;
  for (const StepComparison& row : comparison.steps) {
    if (row.measuredNs == 0 && row.predictedNs == 0) continue;
    Record ratio;
    if (row.measuredNs > 0 && row.predictedNs > 0)
      ratio = static_cast<double>(row.predictedNs) / static_cast<double>(row.measuredNs);
    rows.push_back({{"step", row.name},
                    {"phase", name(row.phase)},
                    {"predicted_ms", msOf(row.predictedNs)},
                    {"measured_ms", msOf(row.measuredNs)},
                    {"predicted_over_measured", ratio}});
  }
  return rows;
}

Record recordOf(const Plan& plan, const ProfiledRun& run, const WhereOptions& where) {
  const PlanComparison& comparison = run.comparison;
  Record record{{"config", plan.config.name},
                {"system", plan.system},
                {"backend", where.backend},
                {"place", where.place()},
                {"routing", plan.routing},
                {"iterations", comparison.iterations},
                {"planned_peak_bytes", comparison.plannedPeak},
                {"observed_peak_bytes", comparison.observedPeak},
                {"hidden_bytes", comparison.hiddenBytes},
                {"worst_difference_bytes", comparison.worstDifference()},
                {"predicted_ms", msOf(comparison.predictedNs)},
                {"measured_ms", msOf(comparison.measuredNs)}};
  record["buffers"] = bufferRows(comparison);
  record["hidden"] = hiddenRows(comparison);
  record["steps"] = stepRows(comparison);
  Record losses = Record::array();
  for (const Loss& loss : run.trace.losses) losses.push_back({{"what", loss.what}, {"count", loss.count}});
  record["losses"] = losses;
  return record;
}

std::string section(const std::string& title, const std::vector<Record>& rows, const std::vector<Column>& columns,
                    bool markdown) {
  if (rows.empty()) return {};
  return (markdown ? "\n### " + title + "\n\n" : "\n" + title + "\n") + textTable(rows, columns, markdown);
}

std::string textOf(const PlanComparison& comparison, const Trace& trace, bool markdown) {
  const int64_t worst = comparison.worstDifference();
  std::string text = fmt::format("peak {} planned, {} observed{}\n", bytesText(comparison.plannedPeak),
                                 bytesText(comparison.observedPeak),
                                 worst == 0 ? ": every buffer equal to the byte"
                                            : fmt::format(": {} is the largest difference", bytesText(worst)));
  text += section("Buffers", bufferRows(comparison),
                  {{"buffer", "buffer"},
                   {"role", "role"},
                   {"planned_bytes", "planned bytes", Unit::count},
                   {"observed_bytes", "observed bytes", Unit::count},
                   {"allocations", "times", Unit::count},
                   {"equal", "equal"}},
                  markdown);
  text += section(fmt::format("Not in the plan: {} at most", bytesText(comparison.hiddenBytes)), hiddenRows(comparison),
                  {{"allocation", "allocation"}, {"bytes", "bytes", Unit::count}, {"count", "times", Unit::count}},
                  markdown);
  text +=
      section(fmt::format("Steps: {:.3f} ms measured{}", static_cast<double>(comparison.measuredNs) / 1e6,
                          comparison.predictedNs > 0
                              ? fmt::format(", {:.3f} ms predicted", static_cast<double>(comparison.predictedNs) / 1e6)
                              : std::string{}),
              stepRows(comparison),
              {{"step", "step"},
               {"phase", "phase"},
               {"predicted_ms", "predicted ms", Unit::milliseconds},
               {"measured_ms", "measured ms", Unit::milliseconds},
               {"predicted_over_measured", "predicted ÷ measured", Unit::ratio}},
              markdown);
  for (const Loss& loss : trace.losses)
    text += fmt::format("{}lost: {} {}\n", &loss == &trace.losses.front() ? "\n" : "", loss.count, loss.what);
  return text;
}

int run(Options& options, std::ostream& out) {
  options.output.format();
  ConfigSource source = options.layer.load();
  const Routing routing = parseRouting(options.layer.routing, source.layer);
  const Plan plan = buildPlan(source.layer, routing, System::parse(options.system));
  options.where.check();
  if (!options.where.onCuda()) checkHostMemory(plan);
  if (!options.trace.empty()) expectFolderOf(options.trace);
  const InterruptWatch watch;
  const ProfiledRun profiled = options.where.profile(plan, routing);
  options.output.emit(
      {recordOf(plan, profiled, options.where)},
      [&](bool markdown) {
        return fmt::format("{}\n{} on {}; routing {}; {} iterations compared\n", describeLayer(source), plan.system,
                           options.where.place(), plan.routing, profiled.comparison.iterations) +
               textOf(profiled.comparison, profiled.trace, markdown);
      },
      out);
  if (!options.trace.empty()) {
    writeTrace(profiled.trace, options.trace);
    std::cerr << fmt::format("wrote {}\n", options.trace);
  }
  if (profiled.interrupted) throw Interrupted();
  return 0;
}

}  // namespace

ProfilerCommand addRun(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "run", "Runs a layer's training step and shows what was planned beside what memory and time it really took");
  options->layer.addTo(*command);
  command->add_option("--system", options->system, "What runs it (see: moeblaze list systems)")
      ->capture_default_str()
      ->type_name("SYSTEM");
  options->where.addTo(*command);
  command->add_option("-o,--output", options->trace, "Write the trace there (.mbtrace)")->type_name("FILE");
  options->output.addFormatTo(*command);
  return [options](std::ostream& out) { return run(*options, out); };
}

}  // namespace moeblaze::profiler
