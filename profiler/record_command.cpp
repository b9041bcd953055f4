#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>

#include "core/error.h"
#include "core/report.h"
#include "profiler/commands.h"
#include "profiler/injection_library.h"
#include "profiler/injection_settings.h"
#include "profiler/launch.h"
#include "profiler/status_page.h"
#include "traces/store.h"

namespace moeblaze::profiler {
namespace {

struct Options {
  std::vector<std::string> command;
  std::string file;
  bool memoryOnly = false;
  bool quiet = false;
};

/// What is known of the recorded processes, on one line that is drawn over.
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

/// One line a trace.
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

/// The traces that were written; the only one gets the name that was asked for.
std::vector<std::string> collect(const StatusPage& page, const InjectionSettings& settings) {
  std::vector<std::string> files;
  for (size_t i = 0; i < page.size(); ++i) {
    std::string file = settings.fileOf(page[i].pid);
    if (std::filesystem::exists(file) && std::ranges::find(files, file) == files.end())
      files.push_back(std::move(file));
  }
  for (const std::string& file : files) absorbLog(file);
  if (files.size() == 1 && files.front() != settings.file) {
    std::filesystem::rename(files.front(), settings.file);
    files.front() = settings.file;
  }
  return files;
}

void reportAll(const StatusPage& page, const InjectionSettings& settings) {
  const std::vector<std::string> files = collect(page, settings);
  for (const std::string& file : files) report(file);
  for (size_t i = 0; i < page.size(); ++i)
    if (page[i].hasFailed) std::cerr << fmt::format("process {}: {}\n", page[i].pid.load(), page[i].failure.data());
  if (files.empty() && page.size() == 0) std::cerr << "nothing was recorded: no process initialised CUDA\n";
}

std::string defaultFile(const std::vector<std::string>& command) {
  return std::filesystem::path(command.front()).stem().string() + ".mbtrace";
}

int run(const Options& options, std::ostream&) {
  if (options.command.empty()) throw InputError("record needs a program after --, with its arguments");
  const std::string library = injectionLibrary();
  const StatusPage page = StatusPage::create();
  InjectionSettings settings{
      .file = std::filesystem::absolute(options.file.empty() ? defaultFile(options.command) : options.file).string(),
      .statusFile = page.file(),
      .cupti = cuptiHint(),
      .memoryOnly = options.memoryOnly};
  if (const auto folder = std::filesystem::path(settings.file).parent_path(); !std::filesystem::is_directory(folder))
    refuse(settings.file, "its folder does not exist");
  std::error_code ignored;
  std::filesystem::remove(settings.file, ignored);  // what is there afterwards is of this run
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
  reportAll(page, settings);
  if (ended.signal != 0) std::cerr << fmt::format("{} was ended by signal {}\n", options.command.front(), ended.signal);
  return ended.status;
}

}  // namespace

ProfilerCommand addRecord(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "record",
      "Runs any CUDA program and records its GPU memory, kernels, copies and NVTX ranges, one file a process");
  command
      ->add_option("-o,--output", options->file,
                   "Trace to write; other processes' beside it (default: PROGRAM.mbtrace)")
      ->type_name("FILE");
  command->add_flag("--memory-only", options->memoryOnly, "Memory and NVTX ranges only: next to no overhead");
  command->add_flag("--quiet", options->quiet, "No live line of current and peak bytes");
  command->add_option("program", options->command, "After --: what to run, and its arguments")
      ->type_name("PROGRAM ARGS");
  command->positionals_at_end();
  return [options](std::ostream& out) { return run(*options, out); };
}

}  // namespace moeblaze::profiler
