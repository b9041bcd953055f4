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

/// The four structures back on the host.
struct HostIndex {
  std::vector<int32_t> expertTokenIndices, expertTokenOffsets, tokenExpertIndices, tokenIndexMap;
  bool operator==(const HostIndex&) const = default;
};

/// Runs dispatch on one GPU. Throws DeviceError when it cannot be used.
class DispatchBench {
 public:
  explicit DispatchBench(int device);
  const std::string& gpu() const { return gpu_; }

  /// Times every method on random ids, in turn within each repeat, in the methods' order.
  std::vector<DispatchTiming> measure(const DispatchShape& shape, int64_t repeats) const;
  /// Builds the structures once, into buffers poisoned and guarded; throws DeviceError when a guard was overwritten.
  HostIndex build(DispatchMethod method, const DispatchShape& shape, const std::vector<int32_t>& topkIds) const;

 private:
  std::string gpu_;
};

}  // namespace moeblaze::cuda
