// Dispatch by the paper's three steps (arXiv 2601.05296, §3.2). First a dense map of tokens and experts is filled, in
// which each warp writes the entries of its own tokens. Then one block for each expert counts the expert's column of
// the map, and a prefix sum over the counts gives the experts' first rows. Last, each expert's block scans its column
// tile by tile, and every set entry writes itself to its row. The map holds one bit for each entry, column by column:
// [E][⌈L/32⌉] words.
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/dispatch/dispatch.h"

namespace moeblaze::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarp;

__host__ __device__ int64_t wordsOf(int64_t tokens) { return (tokens + kWarp - 1) / kWarp; }

/// Each warp takes 32 tokens and writes their word of every column.
__global__ void __launch_bounds__(kThreads)
    mapKernel(int64_t tokens, int32_t topK, int32_t experts, const int32_t* ids, uint32_t* map, int32_t* tokenExperts) {
  const int64_t word = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (word >= wordsOf(tokens)) return;
  const int lane = threadIdx.x % kWarp;
  const int64_t token = word * kWarp + lane;
  const bool valid = token < tokens;
  for (int j = 0; valid && j < topK; ++j) tokenExperts[token * topK + j] = ids[token * topK + j];
  for (int e = 0; e < experts; ++e) {
    bool chosen = false;
    for (int j = 0; valid && j < topK; ++j) chosen |= ids[token * topK + j] == e;
    const uint32_t bits = __ballot_sync(0xffffffffu, chosen);
    if (lane == 0) map[e * wordsOf(tokens) + word] = bits;
  }
}

/// Inclusive prefix sum of `value` over the block's threads. `partial` is shared memory for one value of each warp;
/// `total` gets the sum over the block.
__device__ int32_t scanInclusive(int32_t value, int32_t* partial, int32_t& total) {
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int step = 1; step < kWarp; step *= 2) {
    const int32_t other = __shfl_up_sync(0xffffffffu, value, step);
    if (lane >= step) value += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) partial[warp] = value;
  __syncthreads();
  total = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) value += partial[w];
    total += partial[w];
  }
  return value;
}

__global__ void __launch_bounds__(kThreads) countKernel(int64_t words, const uint32_t* map, int32_t* counts) {
  __shared__ int32_t partial[kWarps];
  const uint32_t* column = map + blockIdx.x * words;
  int32_t sum = 0, total = 0;
  for (int64_t i = threadIdx.x; i < words; i += kThreads) sum += __popc(column[i]);
  scanInclusive(sum, partial, total);
  if (threadIdx.x == 0) counts[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kThreads) offsetKernel(int32_t experts, const int32_t* counts, int32_t* offsets) {
  __shared__ int32_t partial[kWarps];
  int32_t before = 0;
  for (int base = 0; base < experts; base += kThreads) {
    const int e = base + static_cast<int>(threadIdx.x);
    const int32_t count = e < experts ? counts[e] : 0;
    int32_t total = 0;
    const int32_t end = before + scanInclusive(count, partial, total);
    if (e < experts) offsets[e + 1] = end;
    before += total;
  }
  if (threadIdx.x == 0) offsets[0] = 0;
}

__global__ void __launch_bounds__(kThreads)
    placeKernel(int64_t words, int32_t topK, const uint32_t* map, const int32_t* ids, DispatchIndex index) {
  __shared__ int32_t partial[kWarps];
  const int32_t expert = static_cast<int32_t>(blockIdx.x);
  const uint32_t* column = map + blockIdx.x * words;
  int32_t before = index.expertTokenOffsets[expert];
  for (int64_t base = 0; base < words; base += kThreads) {
    const int64_t word = base + threadIdx.x;
    uint32_t bits = word < words ? column[word] : 0;
    const int32_t count = __popc(bits);
    int32_t total = 0;
    int32_t row = before + scanInclusive(count, partial, total) - count;
    for (; bits != 0; bits &= bits - 1, ++row) {
      const int64_t token = word * kWarp + __ffs(static_cast<int>(bits)) - 1;
      int j = 0;
      while (ids[token * topK + j] != expert) ++j;
      index.expertTokenIndices[row] = static_cast<int32_t>(token);
      index.tokenIndexMap[token * topK + j] = row;
    }
    before += total;
  }
}

}  // namespace

size_t paperWorkspaceBytes(const DispatchShape& shape) {
  return sizeof(uint32_t) * static_cast<size_t>(shape.experts) * (wordsOf(shape.tokens) + 1);
}

void buildPaper(const DispatchShape& shape, const int32_t* topkIds, const DispatchIndex& index, void* workspace,
                cudaStream_t stream) {
  const int64_t words = wordsOf(shape.tokens);
  auto* map = static_cast<uint32_t*>(workspace);
  auto* counts = reinterpret_cast<int32_t*>(map + shape.experts * words);
  const auto warpsToBlocks = static_cast<unsigned>((words + kWarps - 1) / kWarps);
  mapKernel<<<warpsToBlocks, kThreads, 0, stream>>>(shape.tokens, shape.topK, shape.experts, topkIds, map,
                                                    index.tokenExpertIndices);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  countKernel<<<shape.experts, kThreads, 0, stream>>>(words, map, counts);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  offsetKernel<<<1, kThreads, 0, stream>>>(shape.experts, counts, index.expertTokenOffsets);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  placeKernel<<<shape.experts, kThreads, 0, stream>>>(words, shape.topK, map, topkIds, index);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace moeblaze::cuda
