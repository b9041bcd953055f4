#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "core/command/command_options.h"
#include "traces/commands/commands.h"
#include "traces/figures/figures.h"
#include "traces/open.h"

namespace moeblaze {
namespace {

struct Options {
  std::string file;
  OutputOptions output;
};

/// The name and id of each device, such as "NVIDIA H200 (0)", joined with commas.
std::string devicesText(const Trace& trace) {
  std::string text;
  for (const Device& device : trace.devices)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", device.name.empty() ? "device" : device.name,
                        fmt::format(" ({})", device.id));
  return text.empty() ? "none named" : text;
}

Record recordOf(const std::string& file, const Trace& trace) {
  int64_t allocations = 0, frees = 0, losses = 0;
  Record tracks = Record::array();
  for (const TrackFigures& figures : figuresOf(trace)) {
    allocations += figures.allocations, frees += figures.frees;
    const Track& track = trace.tracks[index(figures.track)];
    tracks.push_back({{"track", track.name},
                      {"kind", name(track.kind)},
                      {"device", track.device},
                      {"allocations", figures.allocations},
                      {"frees", figures.frees},
                      {"peak_bytes", figures.peakBytes},
                      {"peak_at_ms", static_cast<double>(figures.peakNs) / 1e6},
                      {"end_bytes", figures.endBytes}});
  }
  for (const Loss& loss : trace.losses) losses += loss.count;
  Record record{{"file", file}, {"kind", kindOf(file).name}};
  for (const auto& [key, value] : trace.meta) record["meta_" + key] = value;
  record["devices"] = devicesText(trace);
  record["events"] = allocations + frees + std::ssize(trace.spans);
  record["allocations"] = allocations;
  record["frees"] = frees;
  record["spans"] = std::ssize(trace.spans);
  record["duration_ms"] = static_cast<double>(durationOf(trace)) / 1e6;
  if (const auto track = mainTrack(trace)) {
    const MemoryCurve::Point peak = MemoryCurve(trace, *track).peak();
    record["allocated_peak_bytes"] = peak.bytes;
    record["allocated_peak_at_ms"] = static_cast<double>(peak.timeNs) / 1e6;
    if (const auto segments = segmentsOf(trace, *track)) {
      const MemoryCurve::Point reserved = MemoryCurve(trace, *segments).peak();
      record["reserved_peak_bytes"] = reserved.bytes;
      record["reserved_peak_at_ms"] = static_cast<double>(reserved.timeNs) / 1e6;
    }
  }
  record["losses"] = losses;
  for (const Loss& loss : trace.losses) record["lost"][loss.what] = loss.count;
  record["tracks"] = std::move(tracks);
  return record;
}

std::string textOf(const Record& record, bool markdown) {
  std::string text =
      fmt::format("{}: {}\n", record.at("file").get<std::string>(), record.at("kind").get<std::string>());
  for (const auto& [key, value] : record.items())
    if (key.starts_with("meta_")) text += fmt::format("  {}: {}\n", key.substr(5), value.get<std::string>());
  const auto cell = [&](const char* key, Unit unit) { return cellText(record, {key, "", unit}); };
  text += fmt::format("devices: {}\n{} allocations, {} frees, {} spans in {} ms\n",
                      record.at("devices").get<std::string>(), cell("allocations", Unit::count),
                      cell("frees", Unit::count), cell("spans", Unit::count), cell("duration_ms", Unit::milliseconds));
  if (record.contains("allocated_peak_bytes"))
    text += fmt::format("most allocated {} ({} bytes) at {} ms\n", cell("allocated_peak_bytes", Unit::bytes),
                        cell("allocated_peak_bytes", Unit::count), cell("allocated_peak_at_ms", Unit::milliseconds));
  if (record.contains("reserved_peak_bytes"))
    text += fmt::format("most reserved {} ({} bytes) at {} ms\n", cell("reserved_peak_bytes", Unit::bytes),
                        cell("reserved_peak_bytes", Unit::count), cell("reserved_peak_at_ms", Unit::milliseconds));
  text += record.contains("lost") ? "" : "nothing lost\n";
  if (record.contains("lost"))
    for (const auto& [what, count] : record.at("lost").items())
      text += fmt::format("lost: {} {}\n", count.get<int64_t>(), what);
  const auto& tracks = record.at("tracks");
  return text + "\n" +
         textTable({tracks.begin(), tracks.end()},
                   {{"track", "track"},
                    {"kind", "kind"},
                    {"allocations", "allocations", Unit::count},
                    {"frees", "frees", Unit::count},
                    {"peak_bytes", "peak", Unit::bytes},
                    {"peak_at_ms", "at ms", Unit::milliseconds},
                    {"end_bytes", "at the end", Unit::bytes}},
                   markdown);
}

void run(const Options& options, std::ostream& out) {
  options.output.format();
  const Record record = recordOf(options.file, openTrace(options.file));
  options.output.emit(
      {record}, [&](bool markdown) { return textOf(record, markdown); }, out);
}

}  // namespace

TraceCommand addInfo(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("info", "What a file holds: devices, events, peaks and when, losses");
  command->add_option("file", options->file, "A trace of any kind that is read")->required()->type_name("FILE");
  options->output.addTo(*command);
  return [options](std::ostream& out) { run(*options, out); };
}

}  // namespace moeblaze
