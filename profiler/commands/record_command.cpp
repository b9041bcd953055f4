#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "core/base/error.h"
#include "core/base/report.h"
#include "profiler/commands/commands.h"
#include "profiler/commands/launch.h"
#include "profiler/injection/injection_library.h"
#include "profiler/injection/injection_settings.h"
#include "profiler/injection/status_page.h"
#include "traces/store/store.h"

namespace moeblaze::profiler {
namespace {

struct Options {
  std::vector<std::string> command;
  std::string file;
  bool memoryOnly = false;
  bool quiet = false;
};

/// One line on the terminal with the bytes of the recorded processes. Each draw() replaces it.
class LiveLine {
 public:
  LiveLine(const StatusPage& page, bool quiet) : page_(page), drawn_(isatty(STDERR_FILENO) != 0 && !quiet) {}

  void draw() {
    if (!drawn_ || page_.size() == 0) return;
    int64_t live = 0, peak = 0;
    for (size_t i = 0; i < page_.size(); ++i) {
      live += page_[i].liveBytes;
      peak = std::max<int64_t>(peak, page_[i].peakBytes);
    }
    const std::string text = page_.size() == 1
                                 ? fmt::format("GPU memory {} now, {} at the peak", bytesText(live), bytesText(peak))
                                 : fmt::format("{} processes: GPU memory {} now, {} at the largest one's peak",
                                               page_.size(), bytesText(live), bytesText(peak));
    std::cerr << "\r\033[K" << text << std::flush;
    shown_ = true;
  }
  void clear() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }

 private:
  const StatusPage& page_;
  bool drawn_ = false, shown_ = false;
};

/// True when `file` was written since `start`, so that it is of this run.
bool isOf(const std::string& file, std::filesystem::file_time_type start) {
  std::error_code failed;
  const auto written = std::filesystem::last_write_time(file, failed);
  return !failed && written >= start;
}

/// Prints one line about a trace, and one for each of its losses.
void report(const std::string& file) {
  const TraceSummary summary = summarize(file);
  int64_t kernels = 0, peak = 0;
  for (const TrackSummary& track : summary.tracks) {
    if (track.track.name.ends_with(" kernels")) kernels += track.spans;
    if (track.track.name.starts_with("GPU ")) peak = std::max(peak, track.peak.bytes);
  }
  std::cerr << fmt::format("{}: peak {}, {} allocations and frees, {} kernels{}\n", file, bytesText(peak),
                           summary.events, kernels, summary.finished ? "" : "; its process was killed");
  for (const Loss& loss : summary.losses) std::cerr << fmt::format("{}: lost: {} {}\n", file, loss.count, loss.what);
}

/// The traces that this run has written since `start`. Each is made a complete file of its own. If there is only one,
/// it gets the name that the user asked for.
std::vector<std::string> collect(const StatusPage& page, const InjectionSettings& settings,
                                 std::filesystem::file_time_type start) {
  std::vector<std::string> files;
  for (size_t i = 0; i < page.size(); ++i) {
    std::string file = settings.fileOf(page[i].pid);
    if (isOf(file, start) && std::ranges::find(files, file) == files.end()) files.push_back(std::move(file));
  }
  bool closed = true;
  for (const std::string& file : files) closed = absorbLog(file) && closed;
  if (files.size() == 1 && files.front() != settings.file && closed) {
    std::filesystem::rename(files.front(), settings.file);
    files.front() = settings.file;
  }
  return files;
}

void reportAll(const StatusPage& page, const InjectionSettings& settings, std::filesystem::file_time_type start) {
  const std::vector<std::string> files = collect(page, settings, start);
  for (const std::string& file : files) report(file);
  for (size_t i = 0; i < page.size(); ++i)
    if (page[i].hasFailed) std::cerr << fmt::format("process {}: {}\n", page[i].pid.load(), page[i].failure.data());
  if (page.turnedAway() > 0)
    std::cerr << fmt::format("{} more processes recorded beside {}\n", page.turnedAway(), settings.file);
  if (files.empty() && page.size() == 0)
    std::cerr << "nothing was recorded: no process initialised CUDA, or this folder was hidden from it\n";
}

std::string defaultFile(const std::vector<std::string>& command) {
  return std::filesystem::path(command.front()).stem().string() + ".mbtrace";
}

int run(const Options& options, std::ostream&) {
  if (options.command.empty()) throw InputError("record needs a program, with its arguments, after --");
  const std::string library = injectionLibrary();
  const StatusPage page = StatusPage::create();
  InjectionSettings settings{
      .file = std::filesystem::absolute(options.file.empty() ? defaultFile(options.command) : options.file).string(),
      .statusFile = page.file(),
      .cupti = cuptiHint(),
      .memoryOnly = options.memoryOnly};
  expectFolderOf(settings.file);
  if (std::filesystem::exists(settings.file) && !std::filesystem::is_regular_file(settings.file))
    refuse(settings.file, "cannot be written: is not a regular file");
  const auto start = std::filesystem::file_time_type::clock::now() - std::chrono::seconds(1);  // file times are coarse
  LiveLine line(page, options.quiet);
  const Ended ended = launch(
      options.command,
      [&](int32_t pid) {
        settings.pid = pid;
        return settings.toEnvironment(library);
      },
      [&] { line.draw(); });
  line.clear();
  if (page.size() > 0) settings.pid = ended.pid;
  try {
    reportAll(page, settings, start);
  } catch (const std::exception& error) {  // must not replace the status of the program, which the caller wants
    std::cerr << error.what() << "\n";
  }
  if (ended.signal != 0) std::cerr << fmt::format("{} was ended by signal {}\n", options.command.front(), ended.signal);
  return ended.status;
}

}  // namespace

ProfilerCommand addRecord(CLI::App& app, std::vector<std::string> program) {
  auto options = std::make_shared<Options>();
  options->command = std::move(program);
  CLI::App* command = app.add_subcommand(
      "record",
      "Runs any CUDA program and records its GPU memory, kernels, copies and NVTX ranges, one file a process");
  command
      ->add_option("-o,--output", options->file,
                   "Trace to write; other processes' beside it (default: PROGRAM.mbtrace)")
      ->type_name("FILE");
  command->add_flag("--memory-only", options->memoryOnly, "Memory and NVTX ranges only: next to no overhead");
  command->add_flag("--quiet", options->quiet, "No live line of current and peak bytes");
  command->footer(
      "The program and its arguments follow --, as in: moeblaze-prof record -o train.mbtrace -- python3 train.py");
  return [options](std::ostream& out) { return run(*options, out); };
}

}  // namespace moeblaze::profiler
