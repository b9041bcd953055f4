// Dispatch as frameworks build it: a stable radix sort of the slots by expert, and two kernels that derive the index
// structures from the sorted order.
#include <algorithm>
#include <bit>
#include <cub/device/device_radix_sort.cuh>

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/dispatch/dispatch.h"

namespace moeblaze::cuda {
namespace {

constexpr int kThreads = 256;
constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

unsigned blocksFor(int64_t items) { return static_cast<unsigned>((items + kThreads - 1) / kThreads); }

/// Bits of an expert id, which are the bits that the sort compares.
int keyBits(const DispatchShape& shape) {
  return std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(shape.experts - 1))));
}

size_t sortScratchBytes(const DispatchShape& shape) {
  size_t bytes = 0;
  const int32_t* none = nullptr;
  MOEBLAZE_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(nullptr, bytes, none, static_cast<int32_t*>(nullptr), none,
                                                      static_cast<int32_t*>(nullptr),
                                                      static_cast<int32_t>(shape.slots()), 0, keyBits(shape)));
  return bytes;
}

__global__ void __launch_bounds__(kThreads)
    prepareKernel(int64_t slots, const int32_t* ids, int32_t* order, int32_t* tokenExperts) {
  const int64_t slot = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (slot >= slots) return;
  order[slot] = static_cast<int32_t>(slot);
  tokenExperts[slot] = ids[slot];
}

/// Each thread handles one row; row r holds slot sorted[r]. Where the expert changes from one row to the next, the
/// offsets of all experts up to the new one are this row.
__global__ void __launch_bounds__(kThreads)
    finishKernel(int64_t slots, int32_t topK, int32_t experts, const int32_t* sortedExperts, const int32_t* sorted,
                 DispatchIndex index) {
  const int64_t row = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (row >= slots) return;
  const int32_t slot = sorted[row], expert = sortedExperts[row];
  index.expertTokenIndices[row] = slot / topK;
  index.tokenIndexMap[slot] = static_cast<int32_t>(row);
  const int32_t previous = row == 0 ? -1 : sortedExperts[row - 1];
  for (int32_t e = previous + 1; e <= expert; ++e) index.expertTokenOffsets[e] = static_cast<int32_t>(row);
  if (row == slots - 1)
    for (int32_t e = expert + 1; e <= experts; ++e) index.expertTokenOffsets[e] = static_cast<int32_t>(slots);
}

}  // namespace

size_t sortWorkspaceBytes(const DispatchShape& shape) {
  return 3 * aligned(sizeof(int32_t) * static_cast<size_t>(shape.slots())) + sortScratchBytes(shape);
}

void buildSort(const DispatchShape& shape, const int32_t* topkIds, const DispatchIndex& index, void* workspace,
               cudaStream_t stream) {
  const size_t part = aligned(sizeof(int32_t) * static_cast<size_t>(shape.slots()));
  auto* at = static_cast<std::byte*>(workspace);
  auto* order = reinterpret_cast<int32_t*>(at);
  auto* sortedExperts = reinterpret_cast<int32_t*>(at + part);
  auto* sorted = reinterpret_cast<int32_t*>(at + 2 * part);
  prepareKernel<<<blocksFor(shape.slots()), kThreads, 0, stream>>>(shape.slots(), topkIds, order,
                                                                   index.tokenExpertIndices);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  size_t scratch = sortScratchBytes(shape);
  MOEBLAZE_CUDA_CHECK(cub::DeviceRadixSort::SortPairs(at + 3 * part, scratch, topkIds, sortedExperts, order, sorted,
                                                      static_cast<int32_t>(shape.slots()), 0, keyBits(shape), stream));
  finishKernel<<<blocksFor(shape.slots()), kThreads, 0, stream>>>(shape.slots(), shape.topK, shape.experts,
                                                                  sortedExperts, sorted, index);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace moeblaze::cuda
