#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"

namespace moeblaze {

/// A point of a machine's GEMM efficiency curve. The size of a product [m,k]·[k,n] is the harmonic mean of m, n and k,
/// which is 1.5 times its FLOPs per element moved: a cube of 8192³ has size 8192, a thin product little more than three
/// times its smallest extent.
struct EfficiencyPoint {
  double size = 0;
  double fraction = 0;  ///< of the peak FLOP/s, in (0, 1]
};

/// A GPU as the cost model sees it: sustained figures, not data-sheet ones, where they were measured.
struct Machine {
  std::string name;
  int64_t memoryBytes = 0;
  double bandwidthBytesPerS = 0;                    ///< what a large copy sustains
  std::vector<std::pair<DType, double>> peakFlops;  ///< dense tensor-core FLOP/s
  int64_t launchNs = 0;                             ///< a kernel's start and tail
  std::vector<EfficiencyPoint> gemmEfficiency;      ///< by ascending size; log-interpolated, flat outside

  /// FLOP/s of `dtype`; throws InputError when the machine has no figure for it.
  double flopsOf(DType dtype) const;
  /// Fraction of the peak a product of this size reaches.
  double efficiencyAt(double size) const;
};

/// Built-in machines: a100, h100, h200, b200. Only h200's curve was measured; the others borrow it.
const std::vector<Machine>& namedMachines();

/// A built-in name (any case) or a JSON file with the design's keys. Throws InputError, with the nearest name.
Machine loadMachine(const std::string& text);

}  // namespace moeblaze
