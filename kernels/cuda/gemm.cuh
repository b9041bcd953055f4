#pragma once

#include "kernels/cuda/check.h"
#include "kernels/cuda/context.h"
#include "kernels/cuda/gemm_tiles.cuh"
#include "kernels/cuda/mma.cuh"

// The one main loop of the portable tensor-core kernels: persistent blocks of 8 warps, 128×256 tiles, 64 deep, each
// warp 64×64 with mma.sync; operands arrive through a ring of stages filled by cp.async, which runs ahead across tiles,
// so that the next tile's operands load under this one's epilogue. What varies is a Work:
//
//   Element            16-bit element type
//   kAByK, kBByK       operand lies in shared memory as rows of 64 k values (by K), or as 64 k rows of columns
//   kPaired            columns come from two matrices, 128 each; a warp's 64 are 32 of both, the same ones
//   kScaled            rows of A are scaled by a number each while they are multiplied
//   Params             what the host gives
//   Tiles, makeTiles   which tiles there are
//   Loader             blocksOf(params, tile), begin(tile), load<piece>(stage address, stage, block): A, half of B,
//   rest extraBytes         shared memory of its own beside the ring loadScale          what kScaled needs prepare,
//   finish    before a tile's products, and its epilogue
namespace moeblaze::cuda {

inline constexpr int kWarpColumns = 64, kWarpRows = 64;
inline constexpr int kWarpsAcross = kTileN / kWarpColumns;
inline constexpr int kPanelColumns = kRowBytes / 2;
inline constexpr int kPanelBytes = kTileK * kRowBytes;  ///< 64 k rows of 64 columns
inline constexpr int kTileABytes = kTileM * kTileK * 2;
inline constexpr int kStageBytes = (kTileM + kTileN) * kTileK * 2;
inline constexpr int kMostStages = 4;
/// Threads that copy one row of 128 bytes, and rows they copy at once.
inline constexpr int kChunks = kRowBytes / 16;
inline constexpr int kRowsAtOnce = kGemmThreads / kChunks;

/// A warp's sums: [16-row part][8-column fragment][row l/4 columns 2·(l%4) and next; row l/4+8 the same].
using Sums = float[4][8][4];

/// A warp's operands of one step of 16 along k.
struct Fragments {
  uint32_t a[4][4];
  uint32_t b[4][4];  ///< two 8-column fragments each
  float2 scale[2];   ///< of k 2·(l%4) and the next, and of those + 8; only where rows are scaled
};

/// Where this thread reads its fragments from, relative to a stage.
template <class Work>
class FragmentReader {
 public:
  __device__ FragmentReader() {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int across = warp % kWarpsAcross, down = warp / kWarpsAcross;
    const int row = lane % 8, low = lane / 8 % 2, high = lane / 16;
    if constexpr (Work::kAByK) {
      a_ = swizzled(down * kWarpRows + row + 8 * low, high);
    } else {
      a_ = down * kPanelBytes + swizzled(row + 8 * high, low);
    }
    // A paired warp's columns are `across`-th 32 of both halves.
    const int column = Work::kPaired ? across * 32 : across * kWarpColumns;
    if constexpr (Work::kBByK) {
      b_ = kTileABytes + swizzled(column + row + 8 * high, low);
    } else {
      b_ = kTileABytes + column / kPanelColumns * kPanelBytes +
           swizzled(row + 8 * low, column % kPanelColumns / 8 + high);
    }
  }

  __device__ void load(Fragments& out, uint32_t stage, int step) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (Work::kAByK) {
        loadMatrices(out.a[i], (stage + a_ + i * 16 * kRowBytes) ^ (step << 5));
      } else {
        loadMatricesTransposed(out.a[i], (stage + a_ + step * 16 * kRowBytes) ^ (i << 5));
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      constexpr int kHalf = kTileN / 2;
      const int column = Work::kPaired ? i % 2 * 16 : i * 16, half = Work::kPaired ? i / 2 : 0;
      if constexpr (Work::kBByK) {
        loadMatrices(out.b[i], (stage + b_ + (half * kHalf + column) * kRowBytes) ^ (step << 5));
      } else {
        loadMatricesTransposed(
            out.b[i],
            (stage + b_ + half * (kHalf / kPanelColumns) * kPanelBytes + step * 16 * kRowBytes) ^ (column << 1));
      }
    }
  }

 private:
  uint32_t a_, b_;
};

template <class Work>
__device__ void multiply(Sums& sums, Fragments& f) {
  using T = typename Work::Element;
  if constexpr (Work::kScaled) {
    const auto scale = [](uint32_t& pair, float2 by) {
      const float2 values = unpack<T>(pair);
      pair = pack<T>(values.x * by.x, values.y * by.y);
    };
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int part = 0; part < 4; ++part) scale(f.a[i][part], f.scale[part / 2]);
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) multiplyAdd<T>(sums[i][j], f.a[i], f.b[j / 2][j % 2 * 2], f.b[j / 2][j % 2 * 2 + 1]);
}

/// The loading side: runs ahead of the products through the same tiles.
template <class Work>
class Feed {
 public:
  __device__ Feed(const typename Work::Params& params, const typename Work::Tiles& tiles, uint8_t* extra)
      : params_(params), tiles_(tiles), loader_(params, extra), at_(blockIdx.x) {
    enter();
  }

  template <int kPiece>
  __device__ void load(uint32_t ring, int stage) {
    if (at_ < tiles_.count()) loader_.template load<kPiece>(ring + stage * kStageBytes, stage, block_);
  }
  /// On to the next block of k, in the next tile that has any.
  __device__ void advance() {
    if (++block_ < blocks_) return;
    at_ += gridDim.x;
    enter();
  }

 private:
  __device__ void enter() {
    block_ = 0;
    for (; at_ < tiles_.count(); at_ += gridDim.x) {
      tiles_.locate(at_, tile_);
      blocks_ = Work::Loader::blocksOf(params_, tile_);
      if (blocks_ == 0) continue;
      loader_.begin(tile_);
      return;
    }
  }

  const typename Work::Params& params_;
  const typename Work::Tiles& tiles_;
  typename Work::Loader loader_;
  Tile tile_;
  int64_t at_;
  int block_ = 0, blocks_ = 0;
};

__device__ inline void waitForOldest(int stages) {
  if (stages == 4) {
    waitCopies<2>();
  } else if (stages == 3) {
    waitCopies<1>();
  } else {
    waitCopies<0>();
  }
}

template <class Work>
__global__ void __launch_bounds__(kGemmThreads, 1)
    gemmKernel(const __grid_constant__ typename Work::Params params, int stages) {
  extern __shared__ __align__(1024) uint8_t shared[];
  const uint32_t ring = sharedAddress(shared);
  uint8_t* extra = shared + stages * kStageBytes;
  const typename Work::Tiles tiles =
      Work::makeTiles(params, reinterpret_cast<int32_t*>(extra + Work::extraBytes(stages)));
  Work work(params, extra);
  Feed<Work> feed(params, tiles, extra);
  const FragmentReader<Work> reader;

  int filled = 0;  // stage the feed writes next
  const auto fill = [&]<int kPiece>() {
    feed.template load<kPiece>(ring, filled);
    if constexpr (kPiece == 2) {
      commitCopies();
      feed.advance();
      filled = filled + 1 == stages ? 0 : filled + 1;
    }
  };
  for (int s = 0; s + 1 < stages; ++s) {
    fill.template operator()<0>();
    fill.template operator()<1>();
    fill.template operator()<2>();
  }
  waitForOldest(stages);
  __syncthreads();

  int stage = 0;
  Fragments fragments[2];
  reader.load(fragments[0], ring, 0);
  work.loadScale(fragments[0], stage, 0);
  Tile tile;
  for (int64_t at = blockIdx.x; at < tiles.count(); at += gridDim.x) {
    tiles.locate(at, tile);
    work.prepare(tile);
    Sums sums = {};
    for (int block = Work::Loader::blocksOf(params, tile); block > 0; --block) {
#pragma unroll
      for (int step = 0; step < kTileK / 16; ++step) {
        if (step == kTileK / 16 - 1) {
          // Everybody has read this stage, and the next one has arrived for everybody.
          waitForOldest(stages);
          __syncthreads();
          stage = stage + 1 == stages ? 0 : stage + 1;
        }
        Fragments& next = fragments[(step + 1) % 2];
        reader.load(next, ring + stage * kStageBytes, (step + 1) % 4);
        work.loadScale(next, stage, (step + 1) % 4);
        if (step == 0) fill.template operator()<0>();
        if (step == 1) fill.template operator()<1>();
        if (step == 2) fill.template operator()<2>();
        multiply<Work>(sums, fragments[step % 2]);
      }
    }
    work.finish(sums, tile);
  }
  waitCopies<0>();
}

/// Launches one block a processor with as many stages as its shared memory holds.
template <class Work>
void launchGemm(const typename Work::Params& params, Context& context) {
  int stages = kMostStages;
  const auto bytes = [&] {
    return stages * kStageBytes + Work::extraBytes(stages) +
           static_cast<int>(sizeof(int32_t)) * Work::Tiles::tableEntries(params.groups);
  };
  while (stages > 2 && bytes() > context.sharedBytes()) --stages;
  MOEBLAZE_CUDA_CHECK(cudaFuncSetAttribute(gemmKernel<Work>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes()));
  gemmKernel<Work><<<context.processors(), kGemmThreads, bytes(), context.stream()>>>(params, stages);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace moeblaze::cuda
