#include <fmt/format.h>

#include <iostream>
#include <memory>

#include "core/base/error.h"
#include "traces/commands/commands.h"
#include "traces/file_kinds.h"
#include "traces/open.h"
#include "traces/store/store.h"

namespace moeblaze {

TraceCommand addImport(CLI::App& app) {
  struct Options {
    std::string file, output;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("import", "A foreign file as .mbtrace");
  std::vector<std::string_view> kinds;
  for (const FileKind& kind : foreignFileKinds()) kinds.push_back(kind.brief);
  command->add_option("file", options->file, listNames(kinds))->required()->type_name("FILE");
  command->add_option("-o,--output", options->output, "The .mbtrace to write")->required()->type_name("FILE");
  return [options](std::ostream&) {
    const Trace trace = openTrace(options->file);
    writeTrace(trace, options->output);
    std::cerr << fmt::format("{}: {} allocations and {} spans from {}\n", options->output, trace.allocations.size(),
                             trace.spans.size(), options->file);
  };
}

}  // namespace moeblaze
