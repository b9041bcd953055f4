#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "core/base/error.h"
#include "core/base/report.h"
#include "core/command/command_options.h"
#include "traces/commands/commands.h"
#include "traces/export/chrome.h"
#include "traces/export/csv.h"
#include "traces/export/memory_viz.h"
#include "traces/export/rows.h"
#include "traces/open.h"

namespace moeblaze {
namespace {

constexpr std::array<std::string_view, 4> kForms{"chrome", "csv", "rows", "memory-viz"};

struct Options {
  std::string file, form = "chrome", output;
};

void run(const Options& options) {
  if (std::ranges::find(kForms, options.form) == kForms.end()) refuseName("--to", options.form, kForms);
  const Trace trace = openTrace(options.file);
  if (options.form == "rows") return exportRows(trace, options.output);
  if (options.form == "memory-viz") return writeFile(options.output, exportMemoryViz(trace));
  // The text goes to a temporary file beside the output, so that nothing half-written is left under its name.
  const std::string temporary = options.output + ".part";
  std::ofstream out(temporary, std::ios::binary);
  if (!out) throw InputError(options.output + ": cannot be written");
  if (options.form == "chrome") {
    exportChrome(trace, out);
  } else {
    exportCsv(trace, out);
  }
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(temporary, options.output, error);
  if (out && !error) return;
  std::filesystem::remove(temporary, error);
  throw InputError(options.output + ": cannot be written in full");
}

}  // namespace

TraceCommand addExport(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("export", "A trace as others read it");
  command->add_option("file", options->file, "A trace of any kind that is read")->required()->type_name("FILE");
  command
      ->add_option(
          "--to", options->form,
          "chrome (Chrome and Perfetto JSON), csv (a row an allocation), rows (plain SQLite tables), memory-viz "
          "(PyTorch's viewer's pickle)")
      ->capture_default_str()
      ->type_name("FORM");
  command->add_option("-o,--output", options->output, "The file to write")->required()->type_name("FILE");
  return [options](std::ostream&) { run(*options); };
}

}  // namespace moeblaze
