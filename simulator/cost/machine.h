#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"

namespace moeblaze {

/// A point of a machine's curve of GEMM efficiency over size. The size of a product [m, k]·[k, n] is the harmonic mean
/// of m, n and k, which is 1.5 times its FLOPs per element moved. A product of three extents of 8192 has size 8192; a
/// thin one has little more than three times its smallest extent.
struct EfficiencyPoint {
  double size = 0;
  double fraction = 0;  ///< of the peak FLOP/s, in (0, 1]
};

/// A GPU as the cost model sees it. Where figures were measured they are what the GPU sustains, not its data sheet's.
struct Machine {
  std::string name;
  int64_t memoryBytes = 0;
  double bandwidthBytesPerS = 0;                    ///< sustained by a large copy, bytes read and written added
  std::vector<std::pair<DType, double>> peakFlops;  ///< FLOP/s of the tensor cores without sparsity
  int64_t launchNs = 0;                             ///< what a kernel's launch and end add to its time
  std::vector<EfficiencyPoint> gemmEfficiency;      ///< ascending by size; see efficiencyAt()

  /// Peak FLOP/s in `dtype`. Throws InputError when the machine has no figure for it.
  double flopsOf(DType dtype) const;
  /// The fraction of the peak that a product of this size reaches. Between points the curve is linear in the logarithm
  /// of the size; below the first it falls in proportion to the size, above the last it is constant.
  double efficiencyAt(double size) const;
};

/// The built-in machines: a100, h100, h200 and b200. All use the efficiency curve that was measured on an h200.
const std::vector<Machine>& namedMachines();

/// The machine that `text` names: a built-in one (in any case) or a JSON file. Throws InputError, which gives the
/// nearest name.
Machine loadMachine(const std::string& text);

}  // namespace moeblaze
