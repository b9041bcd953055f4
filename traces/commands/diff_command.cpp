#include <fmt/format.h>

#include <array>
#include <memory>

#include "core/base/error.h"
#include "core/command/command_options.h"
#include "traces/commands/commands.h"
#include "traces/figures/diff.h"
#include "traces/figures/figures.h"
#include "traces/open.h"

namespace moeblaze {
namespace {

struct Options {
  std::string a, b;
  OutputOptions output;
};

TrackId memoryOf(const Trace& trace, const std::string& file) {
  const auto track = mainTrack(trace);
  if (!track) throw InputError(file + ": has no allocations to compare");
  return *track;
}

Record lifeMs(int64_t ns) { return ns == kNever ? Record() : Record(static_cast<double>(ns) / 1e6); }

/// One flat object for each line of every table. Its field "table" tells to which table it belongs.
std::vector<Record> recordsOf(const TraceDiff& diff) {
  std::vector<Record> records;
  const auto add = [&](const char* table, const std::string& what, int64_t a, int64_t b) {
    records.push_back({{"table", table}, {"what", what}, {"a_bytes", a}, {"b_bytes", b}, {"difference_bytes", b - a}});
  };
  add("peak", "allocated", diff.aPeak, diff.bPeak);
  if (diff.aReserved > 0 || diff.bReserved > 0) add("peak", "reserved", diff.aReserved, diff.bReserved);
  for (const auto& live : diff.byRole) add("live_by_role", live.what, live.aBytes, live.bBytes);
  for (const auto& live : diff.byName) add("live_by_name", live.what, live.aBytes, live.bBytes);
  for (const auto& pair : diff.large)
    records.push_back({{"table", "large"},
                       {"what", pair.aName.empty()   ? "appeared"
                                : pair.bName.empty() ? "vanished"
                                                     : "same"},
                       {"a_name", pair.aName},
                       {"b_name", pair.bName},
                       {"a_bytes", pair.aBytes},
                       {"b_bytes", pair.bBytes},
                       {"a_life_ms", lifeMs(pair.aLifeNs)},
                       {"b_life_ms", lifeMs(pair.bLifeNs)}});
  for (const auto& time : diff.times)
    records.push_back({{"table", "time"},
                       {"what", time.name},
                       {"a_ms", static_cast<double>(time.aNs) / 1e6},
                       {"b_ms", static_cast<double>(time.bNs) / 1e6}});
  return records;
}

std::string textOf(const Options& options, const TraceDiff& diff, const std::vector<Record>& records, bool markdown) {
  constexpr size_t kMaxLines = 40;
  const auto table = [&](const char* name, const char* title, const std::vector<Column>& columns) {
    std::vector<Record> rows;
    size_t all = 0;
    for (const Record& record : records)
      if (record.at("table") == name && ++all <= kMaxLines) rows.push_back(record);
    if (rows.empty()) return std::string();
    const std::string more = all > kMaxLines ? fmt::format("({} more in --format json)\n", all - kMaxLines) : "";
    return fmt::format("\n{}\n", title) + textTable(rows, columns, markdown) + more;
  };
  const std::vector<Column> bytes{{"what", ""},
                                  {"a_bytes", "A", Unit::bytes},
                                  {"b_bytes", "B", Unit::bytes},
                                  {"difference_bytes", "B - A", Unit::bytes}};
  return "A " + options.a + "\nB " + options.b + "\n" + table("peak", "Peak", bytes) +
         table("live_by_role", "Alive at the peak, by role", bytes) +
         table("live_by_name", "Alive at the peak, by name, most different first", bytes) +
         table("large",
               fmt::format("Allocations of at least {}, in order, aligned by size", bytesText(diff.largeBytes)).c_str(),
               {{"what", ""},
                {"a_name", "A"},
                {"b_name", "B"},
                {"a_bytes", "A bytes", Unit::bytes},
                {"b_bytes", "B bytes", Unit::bytes}}) +
         table("time", "Time by Step, most different first",
               {{"what", ""}, {"a_ms", "A ms", Unit::milliseconds}, {"b_ms", "B ms", Unit::milliseconds}});
}

void run(const Options& options, std::ostream& out) {
  options.output.format();
  const Trace a = openTrace(options.a), b = openTrace(options.b);
  const TraceDiff diff = diffTraces(a, memoryOf(a, options.a), b, memoryOf(b, options.b));
  const std::vector<Record> records = recordsOf(diff);
  options.output.emit(
      records, [&](bool markdown) { return textOf(options, diff, records, markdown); }, out);
}

}  // namespace

TraceCommand addDiff(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "diff", "Two traces: peaks, what is alive at them, large allocations side by side, time by Step");
  command->add_option("a", options->a, "A trace of any kind that is read")->required()->type_name("A");
  command->add_option("b", options->b, "Another")->required()->type_name("B");
  options->output.addTo(*command);
  return [options](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
