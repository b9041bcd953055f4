#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/progress.h"
#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

/// The place of a span in pixels, or of a run of spans each narrower than a pixel.
struct SpanBox {
  uint32_t span = 0;   ///< index into Trace::spans; for a run, that of its longest span
  uint32_t count = 1;  ///< number of spans in the run
  int row = 0;         ///< the nesting depth
  float left = 0, right = 0;
};

/// The spans of one track in rows by nesting: a span goes to the first row that is free when it starts. Immutable, and
/// safe to share between threads.
class SpanLanes {
 public:
  /// The maximum number of rows; hidden() is the number of spans that would need more.
  static constexpr int kMaxLaneRows = 32;

  SpanLanes(const std::shared_ptr<const Trace>& trace, TrackId track, const Progress& progress = {});

  int rows() const { return static_cast<int>(rows_.size()); }
  /// The number of spans of the track, and how many of them are hidden because they nest too deep.
  size_t size() const { return size_; }
  size_t hidden() const { return hidden_; }
  /// What to draw in a window, row by row from left to right.
  std::vector<SpanBox> boxes(const TimeScale& scale) const;
  /// The span of a row at an instant, as an index into Trace::spans; nothing if there is none.
  std::optional<uint32_t> at(int row, int64_t timeNs) const;

 private:
  static constexpr size_t kBucket = 64, kFanOut = 4;

  /// Spans that do not overlap, in the order of time.
  struct Row {
    std::vector<int64_t> starts, ends;
    std::vector<uint32_t> spans;
    /// A pyramid: the position of the longest of every 64 spans, of every 256, and so on.
    std::vector<std::vector<uint32_t>> longest;
  };
  void addBoxes(const TimeScale& scale, int row, std::vector<SpanBox>& boxes) const;
  static void addLongest(Row& row);
  static size_t longest(const Row& row, size_t first, size_t last);

  std::vector<Row> rows_;
  size_t size_ = 0, hidden_ = 0;
};

}  // namespace moeblaze::gui
