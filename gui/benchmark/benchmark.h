#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/report.h"

namespace moeblaze::gui {

/// What opening a file and moving through it costs.
struct BenchmarkResult {
  std::string file;
  int64_t events = 0;       ///< of the track shown
  double openMs = 0;        ///< until its timeline could be drawn
  double firstFrameMs = 0;  ///< from there until it was
  int64_t rssBytes = 0;     ///< of the process, with the file open
  int64_t peakRssBytes = 0;
  std::vector<double> frameMs;  ///< by move: from the wish to the new picture being painted
  std::vector<double> paintMs;  ///< by move: how long the window did nothing else
};

/// Opens `path` and zooms and pans over it in a window 1920 pixels wide, which shows the panes that it would at first
/// or all of them; needs a QApplication. Throws InputError.
BenchmarkResult runBenchmark(const std::string& path, bool allPanes = false);

/// The flat object that is printed.
Record toRecord(const BenchmarkResult& result);
/// The same for people.
std::string toText(const BenchmarkResult& result);

}  // namespace moeblaze::gui
