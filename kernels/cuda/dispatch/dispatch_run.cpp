#include "kernels/cuda/dispatch/dispatch_run.h"

#include <cuda_runtime.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/routing/routing.h"
#include "kernels/cuda/base/check.h"

namespace moeblaze::cuda {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr int kPoison = 0xff, kGuard = 0xa5;

/// Poisoned device memory with a guard behind it.
class DeviceBytes {
 public:
  explicit DeviceBytes(size_t bytes) : bytes_(bytes) {
    MOEBLAZE_CUDA_CHECK(cudaMalloc(&data_, bytes + kGuardBytes));
    MOEBLAZE_CUDA_CHECK(cudaMemset(data_, kPoison, bytes));
    MOEBLAZE_CUDA_CHECK(cudaMemset(static_cast<std::byte*>(data_) + bytes, kGuard, kGuardBytes));
  }
  ~DeviceBytes() { cudaFree(data_); }
  DeviceBytes(const DeviceBytes&) = delete;
  DeviceBytes& operator=(const DeviceBytes&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  std::vector<int32_t> read() const {
    std::vector<int32_t> values(bytes_ / sizeof(int32_t));
    MOEBLAZE_CUDA_CHECK(cudaMemcpy(values.data(), data_, bytes_, cudaMemcpyDeviceToHost));
    std::vector<unsigned char> guard(kGuardBytes);
    MOEBLAZE_CUDA_CHECK(cudaMemcpy(guard.data(), as<std::byte>() + bytes_, kGuardBytes, cudaMemcpyDeviceToHost));
    if (!std::ranges::all_of(guard, [](unsigned char b) { return b == kGuard; }))
      throw DeviceError("dispatch wrote behind a buffer");
    return values;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

/// The expert ids and the index structures of one shape in device memory.
struct DeviceIndex {
  explicit DeviceIndex(const DispatchShape& s)
      : ids(4 * s.slots()),
        rows(4 * s.slots()),
        offsets(int64_t{4} * (s.experts + 1)),
        experts(4 * s.slots()),
        map(4 * s.slots()) {}
  DispatchIndex index() const {
    return {rows.as<int32_t>(), offsets.as<int32_t>(), experts.as<int32_t>(), map.as<int32_t>()};
  }
  DeviceBytes ids, rows, offsets, experts, map;
};

/// Random expert ids [L, k], distinct within a token and the same in every run.
std::vector<int32_t> randomIds(const DispatchShape& shape) {
  const MoeConfig config{
      .name = "dispatch", .dModel = 1, .dFf = 1, .experts = shape.experts, .topK = shape.topK, .tokens = shape.tokens};
  const Routing routing = Routing::zipf(config, 0);
  std::vector<int32_t> ids;
  ids.reserve(shape.slots());
  for (int64_t slot = 0; slot < shape.slots(); ++slot)
    ids.push_back(routing.expertOf(slot / shape.topK, slot % shape.topK));
  return ids;
}

}  // namespace

DispatchBench::DispatchBench(int device) {
  useDevice(device);
  cudaDeviceProp properties{};
  MOEBLAZE_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  gpu_ = properties.name;
}

HostIndex DispatchBench::build(DispatchMethod method, const DispatchShape& shape,
                               const std::vector<int32_t>& topkIds) const {
  const DeviceIndex device(shape);
  const DeviceBytes workspace(dispatchWorkspaceBytes(method, shape));
  MOEBLAZE_CUDA_CHECK(cudaMemcpy(device.ids.as<void>(), topkIds.data(), 4 * topkIds.size(), cudaMemcpyHostToDevice));
  buildDispatch(method, shape, device.ids.as<int32_t>(), device.index(), workspace.as<void>(), nullptr);
  MOEBLAZE_CUDA_CHECK(cudaDeviceSynchronize());
  workspace.read();
  return {device.rows.read(), device.offsets.read(), device.experts.read(), device.map.read()};
}

std::vector<DispatchTiming> DispatchBench::measure(const DispatchShape& shape, int64_t repeats) const {
  const DeviceIndex device(shape);
  size_t most = 0;
  for (DispatchMethod method : kDispatchMethods) most = std::max(most, dispatchWorkspaceBytes(method, shape));
  const DeviceBytes workspace(most);
  const std::vector<int32_t> ids = randomIds(shape);
  MOEBLAZE_CUDA_CHECK(cudaMemcpy(device.ids.as<void>(), ids.data(), 4 * ids.size(), cudaMemcpyHostToDevice));
  cudaEvent_t start = nullptr, stop = nullptr;
  MOEBLAZE_CUDA_CHECK(cudaEventCreate(&start));
  MOEBLAZE_CUDA_CHECK(cudaEventCreate(&stop));
  // Several builds lie between two events, because a single one is too short to be timed by events.
  constexpr int kBuilds = 20;
  std::vector<std::vector<double>> times(kDispatchMethods.size());
  for (int64_t repeat = -1; repeat < repeats; ++repeat)  // the first round warms up and does not count
    for (size_t m = 0; m < kDispatchMethods.size(); ++m) {
      MOEBLAZE_CUDA_CHECK(cudaEventRecord(start));
      for (int i = 0; i < kBuilds; ++i)
        buildDispatch(kDispatchMethods[m], shape, device.ids.as<int32_t>(), device.index(), workspace.as<void>(),
                      nullptr);
      MOEBLAZE_CUDA_CHECK(cudaEventRecord(stop));
      MOEBLAZE_CUDA_CHECK(cudaEventSynchronize(stop));
      float ms = 0;
      MOEBLAZE_CUDA_CHECK(cudaEventElapsedTime(&ms, start, stop));
      if (repeat >= 0) times[m].push_back(1000.0 * ms / kBuilds);
    }
  MOEBLAZE_CUDA_CHECK(cudaEventDestroy(start));
  MOEBLAZE_CUDA_CHECK(cudaEventDestroy(stop));
  std::vector<DispatchTiming> timings;
  for (size_t m = 0; m < kDispatchMethods.size(); ++m) {
    std::ranges::sort(times[m]);
    timings.push_back({kDispatchMethods[m], times[m][times[m].size() / 2], times[m].front(),
                       dispatchWorkspaceBytes(kDispatchMethods[m], shape)});
  }
  return timings;
}

}  // namespace moeblaze::cuda
