#pragma once

#include <cstdint>
#include <vector>

#include "kernels/cuda/run/context.h"

namespace moeblaze::cuda {

/// What a Plan's sort leaves for the Plan's later Steps outside its buffers, as frameworks do: the experts' bounds,
/// which the host read back, and the sort's own index structures, which stay in the context's memory.
struct SortResult {
  /// First row of every expert, then the number of rows: [E+1]. Empty until a Step that stalls the host has sorted.
  /// Library products, one for each expert, are launched by these bounds.
  std::vector<int64_t> rowStarts;
  /// Context::sorts() as of this run's last sort; 0 before it. The context's index structures are this run's as long as
  /// both agree.
  int64_t number = 0;
};

/// One run of a Plan on a GPU: what every Step is launched with beside its operands.
struct PlanRun {
  Context& context;
  SortResult sorted = {};
};

}  // namespace moeblaze::cuda
