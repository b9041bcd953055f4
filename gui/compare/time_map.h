#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze::gui {

/// How two traces are aligned with each other.
enum class Alignment : uint8_t {
  time,  ///< both start at their first event and keep their own pace
  step,  ///< Steps of the same name start at the same time
};

/// Maps times of one trace to times of another: linear between anchors, and at the same pace before the first and after
/// the last one. The map is monotone.
class TimeMap {
 public:
  /// `anchors` are pairs of a time in the one trace and the matching time in the other. There is at least one pair, and
  /// both times ascend strictly.
  explicit TimeMap(std::vector<std::pair<int64_t, int64_t>> anchors);

  /// The matching time in the other trace, rounded to whole ns.
  int64_t operator()(int64_t fromNs) const;
  size_t anchors() const { return anchors_.size(); }

 private:
  std::vector<std::pair<int64_t, int64_t>> anchors_;
};

/// Pairs of start times of matching spans in `from` and `to`. Spans match when they have the same name and are the same
/// occurrence of it, counted from the start. Where both traces have Steps, only spans of Steps count. The result is the
/// longest choice of pairs that is in the same order in both traces.
std::vector<std::pair<int64_t, int64_t>> commonSteps(const Trace& from, const Trace& to);

}  // namespace moeblaze::gui
