#pragma once

#include <functional>
#include <stop_token>

#include "core/base/interrupt.h"

namespace moeblaze::gui {

/// Reports how far long work is, and stops it on request.
struct Progress {
  std::function<void(double)> onFraction;  ///< called with 0 to 1 on the working thread; may be empty
  std::stop_token stop;

  /// Reports a fraction of the work done. Throws Interrupted once a stop was requested.
  void report(double fraction) const {
    check();
    if (onFraction) onFraction(fraction);
  }
  /// Throws Interrupted once a stop was requested.
  void check() const {
    if (stop.stop_requested()) throw Interrupted();
  }
  /// The progress of a part of the work, which goes from `from` to `to` of the whole.
  Progress part(double from, double to) const {
    if (!onFraction) return {{}, stop};
    return {[report = onFraction, from, to](double fraction) { report(from + fraction * (to - from)); }, stop};
  }
};

}  // namespace moeblaze::gui
