#pragma once

#include <functional>
#include <stop_token>

#include "core/base/interrupt.h"

namespace moeblaze::gui {

/// How far long work is, and whether anybody still wants it.
struct Progress {
  std::function<void(double)> onFraction;  ///< 0 to 1, on the thread that works; may be empty
  std::stop_token stop;

  /// Tells how far it is; throws Interrupted once a stop was requested.
  void report(double fraction) const {
    check();
    if (onFraction) onFraction(fraction);
  }
  void check() const {
    if (stop.stop_requested()) throw Interrupted();
  }
  /// For a part of the work that goes from `from` to `to`.
  Progress part(double from, double to) const {
    if (!onFraction) return {{}, stop};
    return {[report = onFraction, from, to](double fraction) { report(from + fraction * (to - from)); }, stop};
  }
};

}  // namespace moeblaze::gui
