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

/// A span in pixels, or a run of them that are narrower than a pixel together.
struct SpanBox {
  uint32_t span = 0;   ///< index into Trace::spans; of a run, the longest
  uint32_t count = 1;  ///< spans in it
  int row = 0;         ///< depth
  float left = 0, right = 0;
};

/// Spans of one track, nested: each in the first row that is free when it starts. Immutable and safe to share between
/// threads.
class SpanLanes {
 public:
  /// Rows beyond kMaxLaneRows are left out; hidden() says how many spans that are.
  static constexpr int kMaxLaneRows = 32;

  SpanLanes(std::shared_ptr<const Trace> trace, TrackId track, const Progress& progress = {});

  int rows() const { return static_cast<int>(rows_.size()); }
  size_t size() const { return size_; }
  size_t hidden() const { return hidden_; }
  /// What to draw, row by row from left to right.
  std::vector<SpanBox> boxes(const TimeScale& scale) const;
  /// Index into Trace::spans of what a row has at an instant.
  std::optional<uint32_t> at(int row, int64_t timeNs) const;

 private:
  static constexpr size_t kBucket = 64, kFanOut = 4;

  /// Spans that do not overlap, by time.
  struct Row {
    std::vector<int64_t> starts, ends;
    std::vector<uint32_t> spans;
    std::vector<std::vector<uint32_t>> longest;  ///< pyramid: position of the longest of 64, of 256, ...
  };
  void addBoxes(const TimeScale& scale, int row, std::vector<SpanBox>& boxes) const;
  static void addLongest(Row& row);
  static size_t longest(const Row& row, size_t first, size_t last);

  std::vector<Row> rows_;
  size_t size_ = 0, hidden_ = 0;
};

}  // namespace moeblaze::gui
