#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "kernels/host/executor.h"
#include "profiler/commands/commands.h"
#include "profiler/commands/run_options.h"

namespace moeblaze::profiler {
namespace {

constexpr double kMaxPercent = 1e6;

struct Options {
  std::vector<std::string> configs{"paper"};
  std::string tokens, routing = "balanced";
  std::string systems = "moeblaze,moeblaze-paper,moeblaze-min,megablocks";
  std::string toleranceBytes = "0", toleranceTime;
  WhereOptions where;
  OutputOptions output;
};

/// A layer to run under one system.
struct Case {
  Routing routing;
  Plan plan;
};

std::vector<Case> casesOf(const Options& options) {
  std::vector<std::string> names;
  for (const std::string& name : options.configs) {
    if (name != "paper") names.push_back(name);
    for (const ConfigSource& source : namedConfigs())
      if (name == "paper" && source.layer.name.starts_with("conf")) names.push_back(source.layer.name);
  }
  std::vector<Case> cases;
  for (const std::string& name : names) {
    LayerOptions one;
    one.config = name;
    one.tokens = options.tokens;
    one.routing = options.routing;
    const ConfigSource source = one.load();
    const Routing routing = parseRouting(one.routing, source.layer);
    for (const System& system : parseSystems(options.systems))
      cases.push_back({routing, buildPlan(source.layer, routing, system)});
  }
  return cases;
}

double parsePercent(const std::string& option, const std::string& text) {
  size_t used = 0;
  double value = -1;
  try {
    value = std::stod(text, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used != text.size() || !(value >= 0 && value <= kMaxPercent))
    throw InputError(fmt::format("{} {} is not a percentage; allowed 0 to {}", option, quote(text), kMaxPercent));
  return value;
}

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

Record rowOf(const Plan& plan, const PlanComparison& comparison) {
  const int64_t unequal = std::ranges::count(comparison.buffers, false, &BufferComparison::matches);
  const bool timed = comparison.predictedNs > 0 && comparison.measuredNs > 0;
  Record timeError;
  if (timed) timeError = percent(comparison.predictedNs - comparison.measuredNs, comparison.measuredNs);
  return {{"config", plan.config.name},
          {"system", plan.system},
          {"buffers", std::ssize(comparison.buffers)},
          {"unequal_buffers", unequal},
          {"planned_peak_bytes", comparison.plannedPeak},
          {"observed_peak_bytes", comparison.observedPeak},
          {"worst_difference_bytes", comparison.worstDifference()},
          {"bytes_error_percent", percent(comparison.worstDifference(), comparison.plannedPeak)},
          {"hidden_bytes", comparison.hiddenBytes},
          {"hidden_percent", percent(comparison.hiddenBytes, comparison.plannedPeak)},
          {"predicted_ms",
           comparison.predictedNs > 0 ? Record(static_cast<double>(comparison.predictedNs) / 1e6) : Record()},
          {"measured_ms", static_cast<double>(comparison.measuredNs) / 1e6},
          {"time_error_percent", timeError}};
}

/// How bad a row is, for sorting: the error in bytes first, then the error in time, in percent.
std::pair<double, double> badness(const Record& row) {
  const Record& time = row.at("time_error_percent");
  return {row.at("bytes_error_percent").get<double>(), time.is_null() ? 0 : std::abs(time.get<double>())};
}

std::string textOf(const std::vector<Record>& rows, const WhereOptions& where, bool markdown) {
  return fmt::format("planned against observed on {}, worst first\n\n", where.place()) +
         textTable(rows,
                   {{"config", "config"},
                    {"system", "system"},
                    {"buffers", "buffers", Unit::count},
                    {"unequal_buffers", "unequal", Unit::count},
                    {"planned_peak_bytes", "planned peak", Unit::bytes},
                    {"observed_peak_bytes", "observed peak", Unit::bytes},
                    {"worst_difference_bytes", "off by bytes", Unit::count},
                    {"hidden_bytes", "not planned", Unit::bytes},
                    {"hidden_percent", "% of peak", Unit::number},
                    {"predicted_ms", "predicted ms", Unit::milliseconds},
                    {"measured_ms", "measured ms", Unit::milliseconds},
                    {"time_error_percent", "time off by %", Unit::number}},
                   markdown);
}

/// The rows that were measured, worst first, and the exception that ended measuring early, if any.
struct Measured {
  std::vector<Record> rows;
  std::exception_ptr failure;
};

Measured measure(const std::vector<Case>& cases, const WhereOptions& where) {
  Measured measured;
  try {
    for (const Case& it : cases) {
      const ProfiledRun run = where.profile(it.plan, it.routing);
      measured.rows.push_back(rowOf(it.plan, run.comparison));
      if (run.interrupted) throw Interrupted();
    }
  } catch (...) {
    measured.failure = std::current_exception();
    std::cerr << fmt::format("stopping; {} of {} were measured\n", measured.rows.size(), cases.size());
  }
  std::ranges::stable_sort(measured.rows, [](const Record& a, const Record& b) { return badness(a) > badness(b); });
  return measured;
}

int run(Options& options, std::ostream& out) {
  options.output.format();
  if (!options.output.file.empty()) expectFolderOf(options.output.file);
  const double maxBytesError = parsePercent("--tolerance-bytes", options.toleranceBytes);
  const double maxTimeError =
      options.toleranceTime.empty() ? kMaxPercent : parsePercent("--tolerance-time", options.toleranceTime);
  const std::vector<Case> cases = casesOf(options);
  options.where.check();
  if (!options.toleranceTime.empty() && !options.where.machine())
    throw InputError("--tolerance-time needs a prediction; give --gpu");
  if (!options.where.onCuda())
    for (const Case& it : cases) checkHostMemory(it.plan);
  const InterruptWatch watch;
  const Measured measured = measure(cases, options.where);
  if (measured.rows.empty() && measured.failure) std::rethrow_exception(measured.failure);
  options.output.emit(
      measured.rows, [&](bool markdown) { return textOf(measured.rows, options.where, markdown); }, out);
  if (measured.failure) std::rethrow_exception(measured.failure);
  const int64_t past = std::ranges::count_if(measured.rows, [&](const Record& row) {
    return badness(row).first > maxBytesError || badness(row).second > maxTimeError;
  });
  if (past > 0) std::cerr << fmt::format("{} of {} rows are past a tolerance\n", past, measured.rows.size());
  return past > 0 ? 1 : 0;
}

}  // namespace

ProfilerCommand addValidate(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "validate", "Runs layers as several systems and compares with their plans; exit status 1 past a tolerance");
  command->add_option("configs", options->configs, "Configs; paper is conf1 to conf7 (default)")->type_name("CONFIG");
  command->add_option("--tokens", options->tokens, "Tokens in the step (default: the config's)")->type_name("N");
  command
      ->add_option("--routing", options->routing, "balanced, zipf:ALPHA, FILE.npy[:LAYER] or shares:FILE.npy[:LAYER]")
      ->capture_default_str()
      ->type_name("ROUTING");
  addSystems(*command, options->systems);
  command
      ->add_option("--tolerance-bytes", options->toleranceBytes,
                   "Percent of the planned peak a buffer or the peak may be off")
      ->capture_default_str()
      ->type_name("P");
  command->add_option("--tolerance-time", options->toleranceTime, "Percent a predicted time may be off (default: any)")
      ->type_name("P");
  options->where.addTo(*command);
  options->output.addTo(*command);
  return [options](std::ostream& out) { return run(*options, out); };
}

}  // namespace moeblaze::profiler
