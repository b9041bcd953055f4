#include "core/command/program.h"

#include <array>

#include "simulator/commands/commands.h"

namespace moeblaze {

int runSimulator(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app("Memory and time of a Mixture-of-Experts layer's training step, before running it.", "moeblaze-sim");
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  addVersion(app);
  const std::array bodies{addSimulate(app), addCompare(app), addPaper(app), addList(app)};
  return runProgram(app, argc, argv, out, err, [&] {
    // The subcommands are in the order in which they were added, as the bodies are, and the user chose exactly one.
    const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
    for (size_t i = 0; i < bodies.size(); ++i)
      if (commands[i]->parsed()) bodies[i](out);
  });
}

}  // namespace moeblaze
