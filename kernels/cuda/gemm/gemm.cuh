#pragma once

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/gemm/gemm_tiles.cuh"
#include "kernels/cuda/gemm/mma.cuh"
#include "kernels/cuda/run/context.h"

// What all tensor-core kernels share: persistent blocks of 256 threads, tiles of 128×256, 64 deep; operands arrive
// through a ring of stages filled by cp.async, which runs ahead across tiles, so that the next tile's operands load
// under this one's epilogue. What varies is a Work:
//
//   Element            16-bit element type
//   Engine             MmaEngine (gemm_mma.cuh) or WgmmaEngine (gemm_wgmma.cuh): how a stage is multiplied, and so
//                      where sums lie
//   kAByK, kBByK       operand lies in shared memory as rows of 64 k values (by K), or as 64 k rows of columns
//   kPaired            columns come from two matrices, half of them each
//   kScaled            rows of A are scaled by a number each while they are multiplied (MmaEngine only)
//   Params             what the host gives
//   Tiles, makeTiles   which tiles there are
//   Loader             blocksOf(params, tile), begin(tile), next(): on to the tile's next block, and
//                      load<piece>(stage address, stage): A, half of B, the other half
//   extraBytes         shared memory of its own beside the ring
//   loadScale          what kScaled needs
//   prepare, finish    before a tile's products, and its epilogue
namespace moeblaze::cuda {

inline constexpr int kWarpColumns = 64, kWarpRows = 64;
inline constexpr int kPanelColumns = kRowBytes / 2;
inline constexpr int kPanelBytes = kTileK * kRowBytes;  ///< 64 k rows of 64 columns
inline constexpr int kTileABytes = kTileM * kTileK * 2;
inline constexpr int kMostStages = 4;
/// Threads that copy one row of 128 bytes.
inline constexpr int kChunks = kRowBytes / 16;

inline constexpr int kStageBytes = (kTileM + kTileN) * kTileK * 2;
/// Rows of 128 bytes that the block copies at once, and how far they lie apart in shared memory.
inline constexpr int kRowsAtOnce = kGemmThreads / kChunks;
inline constexpr int kCopyPitch = kRowsAtOnce * kRowBytes;

/// A thread's sums of a tile, 32 to each of the first extent: fragments of 8 columns, of which it has columns 2·(l%4)
/// and the next in row l/4, and the same in row l/4 + 8. Engine::Place tells which rows and columns they are.
using Sums = float[4][8][4];

/// The loading side: runs ahead of the products through the same tiles.
template <class Work>
class Feed {
 public:
  __device__ Feed(const typename Work::Params& params, const typename Work::Tiles& tiles, uint32_t ring, int stages,
                  uint8_t* extra)
      : params_(params),
        tiles_(tiles),
        loader_(params, extra),
        count_(tiles.count()),
        at_(blockIdx.x),
        ring_(ring),
        stages_(stages) {
    enter();
  }

  template <int kPiece>
  __device__ void load() {
    if (left_ > 0) loader_.template load<kPiece>(ring_ + stage_ * kStageBytes, stage_);
  }
  /// A whole stage.
  __device__ void fill() {
    load<0>();
    load<1>();
    load<2>();
    advance();
  }
  /// Closes the stage, and goes on to the next block of k, in the next tile that has any.
  __device__ void advance() {
    commitCopies();
    stage_ = stage_ + 1 == stages_ ? 0 : stage_ + 1;
    if (left_ == 0) return;
    if (--left_ > 0) return loader_.next();
    at_ += gridDim.x;
    enter();
  }

 private:
  __device__ void enter() {
    for (; at_ < count_; at_ += gridDim.x) {
      tiles_.locate(at_, tile_);
      left_ = Work::Loader::blocksOf(params_, tile_);
      if (left_ == 0) continue;
      loader_.begin(tile_);
      return;
    }
  }

  const typename Work::Params& params_;
  const typename Work::Tiles& tiles_;
  typename Work::Loader loader_;
  Tile tile_;
  const int64_t count_;
  int64_t at_;
  const uint32_t ring_;
  const int stages_;
  int stage_ = 0;  ///< to be filled next
  int left_ = 0;   ///< blocks of this tile; none once every tile is done
};

/// Waits for the oldest of the stages - 1 that this thread's copies are filling.
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
  uint8_t* const extra = shared + stages * kStageBytes;
  const typename Work::Tiles tiles =
      Work::makeTiles(params, reinterpret_cast<int32_t*>(extra + Work::extraBytes(stages)));
  uint32_t ring = sharedAddress(shared);
  asm volatile("" : "+r"(ring));  // else it is worked out again at every use
  Work work(params, extra);
  Feed<Work> feed(params, tiles, ring, stages, extra);
  Work::Engine::run(params, tiles, work, feed, ring, stages);
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
