#pragma once

#include <string>

#include "core/trace/trace.h"

namespace moeblaze {

struct ChartSize {
  int columns = 72;
  int rows = 12;
};

/// The curve drawn in eighths of a character cell: each column is the most bytes of its slice of [0, endNs), so the
/// peak is always visible. `boundaryNs` (forward to backward) is marked below the axis.
std::string drawMemoryCurve(const MemoryCurve& curve, int64_t endNs, int64_t boundaryNs, ChartSize size = {});

}  // namespace moeblaze
