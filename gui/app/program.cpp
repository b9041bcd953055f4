#include "gui/app/program.h"

#include <QApplication>
#include <cstdlib>
#include <memory>

#include "core/base/error.h"
#include "core/command/command_options.h"
#include "core/command/program.h"
#include "gui/benchmark/benchmark.h"
#include "gui/export/export_view.h"
#include "gui/export/write_picture.h"
#include "gui/shell/main_window.h"
#include "gui/shell/theme.h"

namespace moeblaze::gui {
namespace {

struct Options {
  std::vector<std::string> files;
  std::string exported, view = "timeline", size = "1600x900", benchmark;
  bool json = false, whatIf = false, allPanes = false;
};

bool hasDisplay() {
  const auto isSet = [](const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  return isSet("QT_QPA_PLATFORM") || isSet("DISPLAY") || isSet("WAYLAND_DISPLAY");
}

/// Makes the application object, unless a test has made one. Without a display, pictures and benchmarks are drawn in
/// memory. Throws DeviceError when a window is needed and there is no display.
std::unique_ptr<QApplication> makeApplication(bool needsWindow) {
  if (QCoreApplication::instance() != nullptr) return nullptr;
  if (!hasDisplay()) {
    if (needsWindow)
      throw DeviceError("no display was found; set DISPLAY or WAYLAND_DISPLAY, or use --export to make a picture");
    qputenv("QT_QPA_PLATFORM", "offscreen");
  }
  static int argc = 1;
  static char name[] = "moeblaze-gui";
  static char* argv[] = {name, nullptr};
  QCoreApplication::setOrganizationName("MoEBlaze");
  QCoreApplication::setApplicationName(name);
  auto application = std::make_unique<QApplication>(argc, argv);
  applyTheme(needsWindow ? savedTheme() : Theme::light);
  return application;
}

void addOptions(CLI::App& app, Options& options) {
  app.add_option("FILES", options.files, "Traces: .mbtrace, PyTorch memory snapshot, PyTorch profiler, Nsight Systems");
  app.add_flag("--what-if", options.whatIf, "Start with the what-if page");
  app.add_option("--export", options.exported, "Make a picture there (.png or .svg) instead of opening a window")
      ->type_name("FILE");
  app.add_option("--view", options.view, "Of what: timeline, peak or compare")
      ->capture_default_str()
      ->type_name("VIEW");
  app.add_option("--size", options.size, "Of the picture")->capture_default_str()->type_name("WxH");
  app.add_option("--benchmark", options.benchmark, "Measure opening, zooming and panning FILE")->type_name("FILE");
  app.add_flag("--all-panes", options.allPanes, "The benchmark with allocations and addresses shown too");
  app.add_flag("--json", options.json, "The benchmark as JSON");
  addVersion(app);
}

void measure(const Options& options, std::ostream& out) {
  const auto application = makeApplication(false);
  const BenchmarkResult result = runBenchmark(options.benchmark, options.allPanes);
  out << (options.json ? jsonText({toRecord(result)}) : toText(result));
}

void makePicture(const Options& options) {
  const ExportView view = parseExportView("--view", options.view);
  const QSize size = parsePictureSize("--size", options.size);
  const auto application = makeApplication(false);
  exportView(view, options.files, options.exported, size);
}

int openWindow(const Options& options) {
  const auto application = makeApplication(true);
  MainWindow window;
  QStringList files;
  for (const std::string& file : options.files) files << QString::fromStdString(file);
  window.openFiles(files);
  if (options.whatIf) window.showWhatIf();
  window.show();
  return QApplication::exec();
}

}  // namespace

int runGui(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  CLI::App app("Explore and compare memory timelines of Mixture-of-Experts training.", "moeblaze-gui");
  app.get_formatter()->column_width(36);
  Options options;
  addOptions(app, options);
  int status = 0;
  const int failed = runProgram(app, argc, argv, out, err, [&] {
    if (!options.exported.empty() && !options.benchmark.empty())
      throw InputError("--export and --benchmark contradict one another; give one");
    if (!options.benchmark.empty()) return measure(options, out);
    if (!options.exported.empty()) return makePicture(options);
    status = openWindow(options);
  });
  return failed != 0 ? failed : status;
}

}  // namespace moeblaze::gui
