#pragma once

#include <string>

#include "core/trace/trace.h"

namespace moeblaze {

/// Size of a chart in character cells, without axes and labels.
struct ChartSize {
  int columns = 72;
  int rows = 12;
};

/// Draws the curve with a resolution of an eighth of a character cell. Each column shows the most bytes within its
/// slice of [0, endNs), so the peak is always visible. The axis marks `boundaryNs`, where forward ends and backward
/// begins.
std::string drawMemoryCurve(const MemoryCurve& curve, int64_t endNs, int64_t boundaryNs, ChartSize size = {});

}  // namespace moeblaze
