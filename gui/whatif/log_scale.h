#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace moeblaze::gui {

/// Steps of a slider over values whose ratios matter, not their differences.
struct LogScale {
  double low = 1, high = 10;
  int steps = 100;

  /// Rounded so that doublings of `low` are met exactly where steps divide them.
  int64_t valueAt(int step) const {
    return std::llround(low * std::pow(high / low, static_cast<double>(step) / steps));
  }
  /// The nearest step.
  int stepOf(int64_t value) const {
    const double at = std::log(std::max(static_cast<double>(value), low) / low) / std::log(high / low) * steps;
    return std::clamp(static_cast<int>(std::lround(at)), 0, steps);
  }
};

/// 64 to a million tokens, 16 steps a doubling.
inline constexpr LogScale kTokenScale{64, 1 << 20, 14 * 16};

}  // namespace moeblaze::gui
