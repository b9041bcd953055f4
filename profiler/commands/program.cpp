#include "core/command/program.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "profiler/commands/commands.h"

namespace moeblaze::profiler {

namespace {

/// The number of arguments that are this program's own. For `record`, those after the first -- belong to the recorded
/// program.
int ownArguments(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "record") return argc;
  return static_cast<int>(std::find(argv + 2, argv + argc, std::string_view("--")) - argv);
}

}  // namespace

int runProfiler(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app(
      "What a Mixture-of-Experts layer's training step really does with memory and time, beside what was planned.",
      "moeblaze-prof");
  app.require_subcommand(1);
  const int own = ownArguments(argc, argv);
  const std::vector<std::string> program(argv + std::min(own + 1, argc), argv + argc);
  app.get_formatter()->column_width(36);
  addVersion(app);
  const std::map<std::string, ProfilerCommand> bodies{{"run", addRun(app)},
                                                      {"validate", addValidate(app)},
                                                      {"record", addRecord(app, program)},
                                                      {"doctor", addDoctor(app)},
                                                      {"bench", addBench(app)}};
  int status = 0;
  const int ended =
      runProgram(app, own, argv, out, err, [&] { status = bodies.at(app.get_subcommands().front()->get_name())(out); });
  return ended != 0 ? ended : status;
}

}  // namespace moeblaze::profiler
