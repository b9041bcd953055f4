#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/systems/system.h"
#include "simulator/commands/allocator_option.h"
#include "simulator/commands/commands.h"
#include "simulator/commands/options.h"
#include "simulator/cost/simulation.h"

namespace moeblaze {
namespace {

struct Options {
  void addTo(CLI::App& command) {
    input.addTo(command);
    addSystems(command, systems);
    command.add_option("--baseline", baseline, "What ratios compare with (default: megablocks, else the first)")
        ->type_name("SYSTEM");
    allocator.addTo(command);
    output.addTo(command);
  }

  InputOptions input;
  std::string systems = "all";
  std::string baseline;
  AllocatorOption allocator;
  OutputOptions output;
};

/// A figure by which systems are compared; the best of each is marked.
struct Measure {
  const char* key;
  const char* header;
  Unit unit;
};
constexpr std::array kMeasures{Measure{"saved_bytes", "saved", Unit::bytes}, Measure{"peak_bytes", "peak", Unit::bytes},
                               Measure{"step_ms", "step ms", Unit::milliseconds}};

/// The measure's key without its unit.
std::string stem(const Measure& measure) {
  const std::string key = measure.key;
  return key.substr(0, key.rfind('_'));
}

std::vector<Record> compareRecords(const Options& options, const Inputs& inputs, std::string& baselineText) {
  const std::vector<System> chosen = parseSystems(options.systems);
  const AllocatorModel allocator = options.allocator.model();
  const auto record = [&](const System& system) {
    const Simulation s =
        simulate(inputs.source.layer, inputs.routing, system, inputs.machine, {options.input.withRouter});
    Record row = toRecord(s);
    row["step_ms"] = static_cast<double>(s.forwardNs + s.backwardNs) / 1e6;
    addAllocatorFigures(row, s, allocator);
    return row;
  };
  const auto named = [&](const char* name) {
    return std::find_if(chosen.begin(), chosen.end(), [&](const System& s) { return s.info().name == name; });
  };
  const auto fallback = named("megablocks") != chosen.end() ? named("megablocks") : chosen.begin();
  const System baseline = options.baseline.empty() ? *fallback : System::parse(options.baseline);
  baselineText = baseline.text();
  const Record base = record(baseline);

  std::vector<Record> rows;
  for (const System& system : chosen) rows.push_back(record(system));
  for (const Measure& measure : kMeasures) {
    const auto value = [&](const Record& row) { return row[measure.key].get<double>(); };
    const auto best = std::min_element(rows.begin(), rows.end(),
                                       [&](const Record& a, const Record& b) { return value(a) < value(b); });
    const double least = value(*best);
    for (Record& row : rows) {
      row[stem(measure) + "_ratio"] = value(base) > 0 ? Record(value(row) / value(base)) : Record();
      row["best_" + stem(measure)] = value(row) == least;
    }
  }
  for (Record& row : rows) row["baseline"] = baselineText;
  return rows;
}

std::string table(const Inputs& inputs, std::vector<Record> rows, const std::string& baseline, bool markdown) {
  std::vector<Column> columns{{"system", "system"}};
  for (const Measure& measure : kMeasures) {
    columns.push_back({measure.key, measure.header, measure.unit});
    columns.push_back({stem(measure) + "_ratio", "ratio", Unit::ratio});
    for (Record& row : rows)
      row[measure.key] =
          cellText(row, {measure.key, "", measure.unit}) + (row["best_" + stem(measure)].get<bool>() ? "*" : " ");
  }
  columns.push_back({"forward_ms", "fwd ms", Unit::milliseconds});
  columns.push_back({"backward_ms", "bwd ms", Unit::milliseconds});
  columns.push_back({"traffic_bytes", "traffic", Unit::bytes});
  columns.push_back({"fits", "fits"});
  std::string legend;
  if (rows.front().contains("allocator")) {
    columns.push_back({"allocated_peak_bytes", "allocated", Unit::bytes});
    columns.push_back({"reserved_peak_bytes", "reserved", Unit::bytes});
    columns.push_back({"fragmentation_bytes", "fragmented", Unit::bytes});
    legend = fmt::format(
        "allocated, reserved: most in the blocks of {} and most it takes from the GPU for them; fragmented: reserved\n"
        "but not allocated when reserved is at its most.\n",
        rows.front()["allocator"].get<std::string>());
  }
  return inputs.describe() + "\n" + textTable(rows, columns, markdown) +
         fmt::format(
             "\n* best of its column; ratio = this / {}. saved: held from forward for backward; peak: most alive at "
             "once\n"
             "above parameters, x and the output gradient; fits: peak + parameters + their gradients within the GPU.\n",
             baseline) +
         legend;
}

void run(const Options& options, std::ostream& out) {
  const Inputs inputs(options.input);
  std::string baseline;
  const std::vector<Record> rows = compareRecords(options, inputs, baseline);
  options.output.emit(
      rows, [&](bool markdown) { return table(inputs, rows, baseline, markdown); }, out);
}

}  // namespace

CommandBody addCompare(CLI::App& app) {
  return addCommand(app, "compare", "Systems side by side: a row each, best marked, ratios to a baseline", run);
}

}  // namespace moeblaze
