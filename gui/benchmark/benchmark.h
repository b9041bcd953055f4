#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/report.h"

namespace moeblaze::gui {

/// What opening a file and moving through its timeline costs.
struct BenchmarkResult {
  std::string file;
  int64_t events = 0;       ///< events of the track shown
  double openMs = 0;        ///< from the start of reading until the timeline could be drawn
  double firstFrameMs = 0;  ///< from then until the first picture was painted
  int64_t rssBytes = 0;     ///< resident memory of the process, with the file open
  int64_t peakRssBytes = 0;
  std::vector<double> frameMs;  ///< for each move: from the request to the new picture being painted
  std::vector<double> paintMs;  ///< for each move: the time during which the window could do nothing else
};

/// Opens `path`, then zooms and pans over it in a window 1920 pixels wide. The window shows the panes that it shows at
/// first, or every pane when `allPanes`. Needs a QApplication; throws InputError.
BenchmarkResult runBenchmark(const std::string& path, bool allPanes = false);

/// The result as one flat JSON object.
Record toRecord(const BenchmarkResult& result);
/// The result as text for people.
std::string toText(const BenchmarkResult& result);

}  // namespace moeblaze::gui
