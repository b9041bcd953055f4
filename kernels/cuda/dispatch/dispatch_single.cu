// Dispatch in one cooperative kernel. Every warp owns a contiguous run of slots. It counts the run's experts in a
// histogram of its own and notes each slot's rank within the run. Each block publishes the sum of its warps' histograms
// as one column of a table [E][blocks]. After a barrier across the grid, every block turns the table into the first
// rows of its own warps, and each slot adds its rank to its warp's first row. Because slots are walked in order, tokens
// ascend within an expert and repeated runs give the same bits. Every counter has one writer, so nothing is atomic.
#include <cooperative_groups.h>

#include <algorithm>

#include "core/plan/index_blocks.h"
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/dispatch/dispatch.h"

namespace moeblaze::cuda {
namespace {

constexpr int kWarp = 32;
constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;
/// Groups of 32 slots whose ids a warp loads together, so that it waits for memory once.
constexpr int kAhead = 8;

/// The slots [begin, end) of a warp or a block.
struct Run {
  int64_t begin, end;
};

/// The number of slots in a warp's run. It is the same multiple of 32 for every warp, so that a slot's number tells its
/// warp.
__device__ int64_t slotsPerWarp(int64_t slots) {
  const int64_t perRound = static_cast<int64_t>(gridDim.x) * kWarps * kWarp;
  return (slots + perRound - 1) / perRound * kWarp;
}

__device__ Run clamped(int64_t begin, int64_t length, int64_t slots) {
  return {min(begin, slots), min(begin + length, slots)};
}

/// The lanes of the warp that hold the same expert as this lane, found by one ballot for each bit of the ids. This is
/// faster than a match instruction, whose cost grows with the number of distinct experts in the warp. Lanes past the
/// end of the run form a group of their own.
__device__ unsigned lanesOfExpert(int32_t expert, int idBits) {
  const unsigned valid = __ballot_sync(0xffffffffu, expert >= 0);
  unsigned group = expert >= 0 ? valid : ~valid;
  for (int bit = 0; bit < idBits; ++bit) {
    const bool set = (expert >> bit & 1) != 0;
    const unsigned lanes = __ballot_sync(0xffffffffu, set);
    group &= set ? lanes : ~lanes;
  }
  return group;
}

/// Counts the run's slots by expert, and writes each slot's rank among the run's slots of its expert to `ranks`. Lanes
/// with the same expert take consecutive ranks, and one of them advances the counter.
__device__ void countRun(Run run, int idBits, const int32_t* ids, int32_t* counters, int32_t* ranks,
                         int32_t* tokenExperts) {
  const int lane = threadIdx.x % kWarp;
  for (int64_t base = run.begin; base < run.end; base += kWarp * kAhead) {
    int32_t experts[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int64_t slot = base + i * kWarp + lane;
      experts[i] = slot < run.end ? ids[slot] : -1;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int64_t slot = base + i * kWarp + lane;
      const int32_t expert = experts[i];
      const unsigned group = lanesOfExpert(expert, idBits);
      const int before = __popc(group & ((1u << lane) - 1));
      const int32_t at = expert >= 0 ? counters[expert] : 0;
      __syncwarp();
      if (expert >= 0 && before == 0) counters[expert] = at + __popc(group);
      __syncwarp();
      if (expert < 0) continue;
      ranks[slot] = at + before;
      tokenExperts[slot] = expert;
    }
  }
}

/// Turns the block's ranks into rows. All warps walk the block's slots side by side, so that their writes to one
/// expert's rows lie together. If each warp walked its own run, thousands of half-written sectors would be open at
/// once, and the cache would evict them.
__device__ void placeBlock(Run block, int64_t perWarp, uint32_t topK, int experts, const int32_t* bases,
                           const DispatchIndex& index) {
  const uint32_t runLength = static_cast<uint32_t>(perWarp);
  for (int64_t base = block.begin + threadIdx.x; base < block.end; base += kThreads * kAhead) {
    int32_t expertOf[kAhead], ranks[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int64_t slot = base + i * kThreads;
      expertOf[i] = slot < block.end ? index.tokenExpertIndices[slot] : -1;
      ranks[i] = slot < block.end ? index.tokenIndexMap[slot] : 0;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      const int64_t slot = base + i * kThreads;
      if (expertOf[i] < 0) continue;
      const uint32_t warp = static_cast<uint32_t>(slot - block.begin) / runLength;
      const int32_t row = bases[warp * experts + expertOf[i]] + ranks[i];
      index.tokenIndexMap[slot] = row;
      index.expertTokenIndices[row] = static_cast<int32_t>(static_cast<uint32_t>(slot) / topK);
    }
  }
}

/// Exclusive prefix sum over `count` values in shared memory, in place, by the whole block. `partial` holds one value
/// of each warp. Returns the total.
__device__ int32_t scanBlock(int32_t* values, int count, int32_t* partial) {
  const int perThread = (count + kThreads - 1) / kThreads;
  const int first = threadIdx.x * perThread, last = min(first + perThread, count);
  int32_t sum = 0;
  for (int i = first; i < last; ++i) sum += values[i];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int32_t inclusive = sum;
  for (int step = 1; step < kWarp; step *= 2) {
    const int32_t other = __shfl_up_sync(0xffffffffu, inclusive, step);
    if (lane >= step) inclusive += other;
  }
  if (lane == kWarp - 1) partial[warp] = inclusive;
  __syncthreads();
  int32_t start = inclusive - sum, total = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp) start += partial[w];
    total += partial[w];
  }
  for (int i = first; i < last; ++i) {
    const int32_t value = values[i];
    values[i] = start;
    start += value;
  }
  __syncthreads();
  return total;
}

/// Sums the table for each expert: its slots in the blocks before this one go to `earlier`, its slots in all blocks to
/// `totals`. Each warp takes several experts at a time, so that it waits for memory once.
__device__ void sumTable(const int32_t* table, int experts, int32_t* earlier, int32_t* totals) {
  const int lane = threadIdx.x % kWarp, blocks = static_cast<int>(gridDim.x), mine = static_cast<int>(blockIdx.x);
  for (int first = static_cast<int>(threadIdx.x) / kWarp * kAhead; first < experts; first += kWarps * kAhead) {
    int32_t before[kAhead] = {}, all[kAhead] = {};
    for (int b = lane; b < blocks; b += kWarp)
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int32_t count = first + i < experts ? table[static_cast<int64_t>(first + i) * blocks + b] : 0;
        all[i] += count;
        before[i] += b < mine ? count : 0;
      }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      for (int step = kWarp / 2; step > 0; step /= 2) {
        all[i] += __shfl_xor_sync(0xffffffffu, all[i], step);
        before[i] += __shfl_xor_sync(0xffffffffu, before[i], step);
      }
      if (lane == 0 && first + i < experts) totals[first + i] = all[i], earlier[first + i] = before[i];
    }
  }
}

__global__ void __launch_bounds__(kThreads) singleKernel(int64_t slots, int32_t topK, int32_t experts,
                                                         const int32_t* ids, DispatchIndex index, int32_t* table) {
  extern __shared__ int32_t shared[];
  int32_t* counts = shared;  // [kWarps][E]: slots of each warp, later the row for its next slot, of each expert
  int32_t* bases = shared + kWarps * experts;  // [E]: slots of each expert, later its first row
  int32_t* earlier = bases + experts;          // [E]: slots of each expert in the blocks before this one
  int32_t* partial = earlier + experts;        // [kWarps]
  const int warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  int32_t* mine = counts + warp * experts;

  for (int e = lane; e < experts; e += kWarp) mine[e] = 0;
  __syncwarp();
  const int64_t perWarp = slotsPerWarp(slots);
  const Run block = clamped(blockIdx.x * perWarp * kWarps, perWarp * kWarps, slots);
  const Run run = clamped(block.begin + warp * perWarp, perWarp, slots);
  const int idBits = 32 - __clz(experts - 1);
  countRun(run, idBits, ids, mine, index.tokenIndexMap, index.tokenExpertIndices);
  __syncthreads();
  for (int e = threadIdx.x; e < experts; e += kThreads) {
    int32_t sum = 0;
    for (int w = 0; w < kWarps; ++w) sum += counts[w * experts + e];
    table[static_cast<int64_t>(e) * gridDim.x + blockIdx.x] = sum;
  }
  cooperative_groups::this_grid().sync();

  // The totals give the experts' first rows. Within an expert, the slots of earlier blocks come before this block's.
  sumTable(table, experts, earlier, bases);
  __syncthreads();
  const int32_t total = scanBlock(bases, experts, partial);
  if (blockIdx.x == 0) {
    for (int e = threadIdx.x; e < experts; e += kThreads) index.expertTokenOffsets[e] = bases[e];
    if (threadIdx.x == 0) index.expertTokenOffsets[experts] = total;
    __syncthreads();
  }
  for (int e = threadIdx.x; e < experts; e += kThreads) {
    int32_t next = bases[e] + earlier[e];
    for (int w = 0; w < kWarps; ++w) {
      const int32_t count = counts[w * experts + e];
      counts[w * experts + e] = next;
      next += count;
    }
  }
  __syncthreads();

  placeBlock(block, perWarp, static_cast<uint32_t>(topK), experts, counts, index);
}

size_t sharedBytes(const DispatchShape& shape) {
  return sizeof(int32_t) * (static_cast<size_t>(kWarps + 2) * shape.experts + kWarps);
}

/// The number of blocks, all of which run at once on the current device; fewer where there are few slots.
int gridBlocks(const DispatchShape& shape) {
  int device = 0, processors = 0, perProcessor = 0;
  MOEBLAZE_CUDA_CHECK(cudaGetDevice(&device));
  MOEBLAZE_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  MOEBLAZE_CUDA_CHECK(cudaFuncSetAttribute(singleKernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           static_cast<int>(sharedBytes(shape))));
  MOEBLAZE_CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&perProcessor, singleKernel, kThreads, sharedBytes(shape)));
  const int64_t worth = maxIndexBlocks(shape.slots());
  return static_cast<int>(std::min<int64_t>(worth, static_cast<int64_t>(processors) * std::max(1, perProcessor)));
}

}  // namespace

size_t singleWorkspaceBytes(const DispatchShape& shape) {
  return sizeof(int32_t) * static_cast<size_t>(shape.experts) * gridBlocks(shape);
}

void buildSingle(const DispatchShape& shape, const int32_t* topkIds, const DispatchIndex& index, void* workspace,
                 cudaStream_t stream) {
  int64_t slots = shape.slots();
  int32_t topK = shape.topK, experts = shape.experts;
  DispatchIndex out = index;
  auto* table = static_cast<int32_t*>(workspace);
  void* arguments[] = {&slots, &topK, &experts, &topkIds, &out, &table};
  MOEBLAZE_CUDA_CHECK(cudaLaunchCooperativeKernel(singleKernel, dim3(gridBlocks(shape)), dim3(kThreads), arguments,
                                                  sharedBytes(shape), stream));
}

}  // namespace moeblaze::cuda
