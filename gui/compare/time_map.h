#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze::gui {

/// How two traces are laid over one another.
enum class Alignment : uint8_t {
  time,  ///< from each one's first event, at the same pace
  step,  ///< so that Steps of the same name begin together
};

/// Brings instants of one trace to those of another: anchors, straight lines between them, the same pace outside.
/// Monotone.
class TimeMap {
 public:
  /// From and to; both strictly ascending, at least one.
  explicit TimeMap(std::vector<std::pair<int64_t, int64_t>> anchors);

  int64_t operator()(int64_t fromNs) const;
  size_t anchors() const { return anchors_.size(); }

 private:
  std::vector<std::pair<int64_t, int64_t>> anchors_;
};

/// Begins of spans in `from` and `to` that belong together: the same name for the same time, in the same order; of
/// Steps where both have them. Most of them that are in order.
std::vector<std::pair<int64_t, int64_t>> commonSteps(const Trace& from, const Trace& to);

}  // namespace moeblaze::gui
