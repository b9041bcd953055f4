#include "core/program.h"

#include <map>
#include <string>

#include "profiler/commands.h"

namespace moeblaze::profiler {

int runProfiler(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app(
      "What a Mixture-of-Experts layer's training step really does with memory and time, beside what was planned.",
      "moeblaze-prof");
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  addVersion(app);
  const std::map<std::string, ProfilerCommand> bodies{{"run", addRun(app)},
                                                      {"validate", addValidate(app)},
                                                      {"record", addRecord(app)},
                                                      {"doctor", addDoctor(app)},
                                                      {"bench", addBench(app)}};
  int status = 0;
  const int ended = runProgram(app, argc, argv, out, err,
                               [&] { status = bodies.at(app.get_subcommands().front()->get_name())(out); });
  return ended != 0 ? ended : status;
}

}  // namespace moeblaze::profiler
