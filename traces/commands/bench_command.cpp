#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <memory>

#include "core/command/command_options.h"
#include "core/command/program.h"
#include "traces/commands/bench_store.h"
#include "traces/commands/commands.h"

namespace moeblaze {

TraceCommand addBench(CLI::App& app) {
  struct Options {
    std::string events = "10000000", kept;
    OutputOptions output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("bench", "What storing allocation events costs on this machine");
  command->add_option("--events", options->events, "Allocations and frees to record")
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--keep", options->kept, "Leave the recording there, to try a large one (.mbtrace)")
      ->type_name("FILE");
  options->output.addTo(*command);
  return [options](std::ostream& out) {
    options->output.format();
    const int64_t events = parseCount("--events", options->events, 2, 200'000'000);
    std::cerr << fmt::format("recording {} events\n", events);
    const std::string path = options->kept.empty()
                                 ? (std::filesystem::temp_directory_path() / "moeblaze_bench.mbtrace").string()
                                 : options->kept;
    const StoreFigures figures = benchStore(events, path);
    if (options->kept.empty()) std::filesystem::remove(path);
    const Record record{{"events", figures.events},
                        {"write_events_per_second", figures.eventsPerSecond},
                        {"bytes_per_event", figures.bytesPerEvent},
                        {"peak_found_ms", figures.summarySeconds * 1e3},
                        {"read_ms", figures.readSeconds * 1e3}};
    const auto text = [&](bool markdown) {
      return textTable({record},
                       {{"events", "events", Unit::count},
                        {"write_events_per_second", "written a second", Unit::number},
                        {"bytes_per_event", "bytes each", Unit::number},
                        {"peak_found_ms", "opened, peak found ms", Unit::milliseconds},
                        {"read_ms", "read whole ms", Unit::milliseconds}},
                       markdown);
    };
    options->output.emit({record}, text, out);
  };
}

}  // namespace moeblaze
