#pragma once

#include <concepts>

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/gemm/gemm_tiles.cuh"
#include "kernels/cuda/gemm/mma.cuh"
#include "kernels/cuda/run/context.h"

// What all tensor-core kernels share. A launch has one persistent block of 256 threads on each processor. A block works
// through output tiles of 128 x 256, whose products advance along k in steps of 64. The operands of a step are a stage:
// stages lie in a ring in shared memory, which cp.async fills. Copies run ahead of the products, across the end of a
// tile too, so that the next tile's operands arrive while this tile's epilogue runs. What varies from product to
// product is a Work, whose contract is the concept GemmWork.
namespace moeblaze::cuda {

inline constexpr int kWarpColumns = 64, kWarpRows = 64;
inline constexpr int kPanelColumns = kRowBytes / 2;
/// A panel is 64 columns of a tile: 64 rows, one for each k, of 128 bytes.
inline constexpr int kPanelBytes = kTileK * kRowBytes;
inline constexpr int kTileABytes = kTileM * kTileK * 2;
inline constexpr int kMaxStages = 4;
/// Threads that copy one row of 128 bytes, 16 bytes each.
inline constexpr int kChunks = kRowBytes / 16;

inline constexpr int kStageBytes = (kTileM + kTileN) * kTileK * 2;
/// Rows of 128 bytes that the block copies at once.
inline constexpr int kRowsAtOnce = kGemmThreads / kChunks;
/// Bytes of shared memory from one row that a thread copies to its next.
inline constexpr int kCopyPitch = kRowsAtOnce * kRowBytes;

/// A thread's sums of a tile, as fragments of 8 columns and 16 rows: [4][8] fragments of 4 sums. Lane l holds columns
/// 2·(l%4) and the next in row l/4, and the same columns in row l/4 + 8. Engine::Place tells where a fragment lies.
using Sums = float[4][8][4];

/// What the portable engine multiplies in one step of 16 along k (gemm_mma.cuh).
struct Fragments;

/// Which output tiles a product has: RowTiles or ReductionTiles (gemm_tiles.cuh).
template <class T>
concept GemmTiles = requires(const T& tiles, int64_t at, Tile& tile, const Groups& groups) {
  { T::tableEntries(groups) } -> std::same_as<int>;
  { tiles.count() } -> std::same_as<int64_t>;
  tiles.locate(at, tile);
};

/// How a product's operands reach a stage. `blocksOf` is the number of steps of 64 along k that a tile has; `begin`
/// starts a tile and `next` goes on to its next step. `load<piece>(stage address, stage)` copies a part of the step's
/// operands: piece 0 is A, pieces 1 and 2 are the halves of B.
template <class T, class Params>
concept GemmLoader = std::constructible_from<T, const Params&, uint8_t*> &&
    requires(T loader, const Params& params, const Tile& tile, uint32_t address, int stage) {
  { T::blocksOf(params, tile) } -> std::same_as<int>;
  loader.begin(tile);
  loader.next();
  loader.template load<0>(address, stage);
  loader.template load<1>(address, stage);
  loader.template load<2>(address, stage);
};

/// A product that gemmKernel computes.
///  - Element is its 16-bit type; Engine (MmaEngine or WgmmaEngine) multiplies stages, and so decides where sums lie.
///  - kAByK and kBByK: the operand lies in shared memory by K, as rows of 64 values along k; else as 64 rows, one for
///    each k, of columns.
///  - kPaired: half of a tile's columns come from each of two matrices.
///  - kScaled: A is multiplied by one number for each k on the way; loadScale loads the numbers (MmaEngine only).
///  - Params is what the host gives; makeTiles builds the tiles, with a table in shared memory.
///  - extraBytes is what the Work needs in shared memory beside the ring.
///  - prepare is called before a tile's products, finish with the tile's sums: it is the epilogue.
template <class W>
concept GemmWork = GemmTiles<typename W::Tiles> && GemmLoader<typename W::Loader, typename W::Params> &&
    std::constructible_from<W, const typename W::Params&, uint8_t*> &&
    requires(const W& work, const typename W::Params& params, int32_t* table, const Sums& sums, const Tile& tile) {
  typename W::Element;
  typename W::Engine::Place;
  { W::kAByK } -> std::convertible_to<bool>;
  { W::kBByK } -> std::convertible_to<bool>;
  { W::kPaired } -> std::convertible_to<bool>;
  { W::kScaled } -> std::convertible_to<bool>;
  { W::makeTiles(params, table) } -> std::same_as<typename W::Tiles>;
  { W::extraBytes(kMaxStages) } -> std::same_as<int>;
  params.groups;
  work.prepare(tile);
  work.finish(sums, tile);
} &&(!W::kScaled || requires(const W& work, Fragments& fragments) { work.loadScale(fragments, 0, 0); });

/// Calls multiplyBlocks(sums, blocks) for each of this block's tiles, between the Work's `prepare` and `finish`. It
/// adds the tile's products, `blocks` steps of 64 along k, to `sums`.
template <GemmWork Work, typename F>
__device__ __forceinline__ void forEachTile(const typename Work::Params& params, const typename Work::Tiles& tiles,
                                            Work& work, F&& multiplyBlocks) {
  Tile tile;
  const int64_t count = tiles.count();
  for (int64_t at = blockIdx.x; at < count; at += gridDim.x) {
    tiles.locate(at, tile);
    work.prepare(tile);
    Sums sums = {};
    multiplyBlocks(sums, Work::Loader::blocksOf(params, tile));
    work.finish(sums, tile);
  }
  waitCopies<0>();
}

/// The loading side of a block, which runs ahead of the products through the same tiles.
template <GemmWork Work>
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
  /// Fills a whole stage.
  __device__ void fill() {
    load<0>();
    load<1>();
    load<2>();
    advance();
  }
  /// Closes the stage, and goes on to the next step along k: of this tile, or of the next tile that has any.
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
  int stage_ = 0;  ///< the stage to be filled next
  int left_ = 0;   ///< steps left of this tile; 0 once every tile is done
};

/// Waits for the oldest of the stages - 1 stages that this thread's copies are filling.
__device__ inline void waitForOldest(int stages) {
  if (stages == 4) {
    waitCopies<2>();
  } else if (stages == 3) {
    waitCopies<1>();
  } else {
    waitCopies<0>();
  }
}

template <GemmWork Work>
__global__ void __launch_bounds__(kGemmThreads, 1)
    gemmKernel(const __grid_constant__ typename Work::Params params, int stages) {
  extern __shared__ __align__(1024) uint8_t shared[];
  uint8_t* const extra = shared + stages * kStageBytes;
  const typename Work::Tiles tiles =
      Work::makeTiles(params, reinterpret_cast<int32_t*>(extra + Work::extraBytes(stages)));
  uint32_t ring = sharedAddress(shared);
  asm volatile("" : "+r"(ring));  // keeps the address in a register; it would be computed again at every use
  Work work(params, extra);
  Feed<Work> feed(params, tiles, ring, stages, extra);
  Work::Engine::run(params, tiles, work, feed, ring, stages);
}

/// Launches one block on each processor, with as many stages as a block's shared memory holds.
template <GemmWork Work>
void launchGemm(const typename Work::Params& params, Context& context) {
  int stages = kMaxStages;
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
