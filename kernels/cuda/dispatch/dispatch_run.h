#pragma once

#include <string>
#include <vector>

#include "kernels/cuda/dispatch/dispatch.h"

namespace moeblaze::cuda {

struct DispatchTiming {
  DispatchMethod method;
  double medianUs = 0, leastUs = 0;
  size_t workspaceBytes = 0;
};

/// The paper's four structures, copied to the host.
struct HostIndex {
  std::vector<int32_t> expertTokenIndices, expertTokenOffsets, tokenExpertIndices, tokenIndexMap;
  bool operator==(const HostIndex&) const = default;
};

/// Builds index structures on one GPU, for benchmarks and tests. The constructor throws DeviceError when the GPU cannot
/// be used.
class DispatchBench {
 public:
  explicit DispatchBench(int device);
  const std::string& gpu() const { return gpu_; }

  /// Times every method on random ids. Within each repeat all methods take turns, in the order of kDispatchMethods.
  std::vector<DispatchTiming> measure(const DispatchShape& shape, int64_t repeats) const;
  /// Builds the structures once, in poisoned buffers with guards behind them. Throws DeviceError when a guard was
  /// overwritten.
  HostIndex build(DispatchMethod method, const DispatchShape& shape, const std::vector<int32_t>& topkIds) const;

 private:
  std::string gpu_;
};

}  // namespace moeblaze::cuda
