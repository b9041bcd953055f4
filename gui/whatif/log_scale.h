#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace moeblaze::gui {

/// The steps of a slider whose values grow by equal ratios.
struct LogScale {
  double low = 1, high = 10;
  int steps = 100;

  /// The value at a step, rounded. If the steps divide the range evenly, doublings of `low` are exact.
  int64_t valueAt(int step) const {
    return std::llround(low * std::pow(high / low, static_cast<double>(step) / steps));
  }
  /// The step nearest to a value.
  int stepOf(int64_t value) const {
    const double at = std::log(std::max(static_cast<double>(value), low) / low) / std::log(high / low) * steps;
    return std::clamp(static_cast<int>(std::lround(at)), 0, steps);
  }
};

/// 64 to 2^20 tokens, with 16 steps for each doubling.
inline constexpr LogScale kTokenScale{64, 1 << 20, 14 * 16};

}  // namespace moeblaze::gui
