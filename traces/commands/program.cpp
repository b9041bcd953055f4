#include "core/command/program.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "traces/commands/commands.h"
#include "traces/file_kinds.h"

namespace moeblaze {

int runTraces(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  std::string kinds = ".mbtrace files";
  for (const FileKind& kind : foreignFileKinds()) kinds += fmt::format(", {}s", kind.name);
  CLI::App app(fmt::format("Memory traces: {}.", kinds), "moeblaze-trace");
  app.require_subcommand(1);
  app.get_formatter()->column_width(36);
  addVersion(app);
  const std::map<std::string, TraceCommand> bodies{{"info", addInfo(app)},
                                                   {"diff", addDiff(app)},
                                                   {"export", addExport(app)},
                                                   {"import", addImport(app)},
                                                   {"bench", addBench(app)}};
  return runProgram(app, argc, argv, out, err, [&] { bodies.at(app.get_subcommands().front()->get_name())(out); });
}

}  // namespace moeblaze
