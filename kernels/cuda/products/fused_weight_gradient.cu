// Weight gradients of the indexed path: leftᵀ·right over each expert's rows, whose number only the device knows. Tokens
// are read through the index structure and, where the Plan says so, scaled by their gates as they are multiplied.
// Experts without rows get zeros.
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/gemm_operands.cuh"
#include "kernels/cuda/run/products.h"

namespace moeblaze::cuda {
namespace {

template <typename T>
struct ReductionProduct {
  Groups groups;
  RowTensor<const T> left, right[2];
  WeightTensor<T> out[2];
  const int32_t* gather = nullptr;  ///< the token of each row, for the operands that are gathered
  Numbers gates;                    ///< [R]
  int32_t m = 0, n = 0;             ///< rows and columns of one result
  int32_t results = 1;
};

/// Row numbers are copied to shared memory kIndexAhead blocks before the rows themselves. A ring has room for the
/// numbers of kIndexRing blocks.
constexpr int kIndexAhead = 4, kIndexRing = 8;
constexpr int kIndexBytes = kIndexRing * kTileK * static_cast<int>(sizeof(int32_t));

/// Copies blocks of 64 rows of both operands. Every block has other tokens, whose numbers are copied through shared
/// memory some blocks ahead, so that no copy waits for them.
template <typename T, bool kScaled>
class ReductionLoader {
 public:
  __device__ ReductionLoader(const ReductionProduct<T>& product, uint8_t* extra)
      : p_(product),
        first_(product.groups.begin(0)),
        tokens_(reinterpret_cast<int32_t*>(extra)),
        gates_(reinterpret_cast<float*>(extra + kIndexBytes)) {}

  static __device__ int blocksOf(const ReductionProduct<T>&, const Tile& tile) { return ceilDivide(tile.rows, kTileK); }

  __device__ void begin(const Tile& tile) {
    const CopyLane lane;
    const int32_t nTilesEach = ceilDivide(p_.n, kTileN), result = tile.n / nTilesEach;
    const int32_t m = tile.m * kTileM, n = (tile.n - result * nTilesEach) * kTileN;
    const RowTensor<const T>& right = p_.right[result];
    leftMask_ = maskOf<kTileM>(m, p_.m), rightMask_ = maskOf<kTileN>(n, p_.n);
    left_ = p_.left.data + m + lane.column() - (p_.left.local ? first_ : 0) * p_.left.pitch;
    right_ = right.data + n + lane.column() - (right.local ? first_ : 0) * right.pitch;
    rightGathered_ = right.gather != nullptr;
    rightPitch_ = static_cast<uint32_t>(right.pitch / kVector);
    block_ = 0, row_ = tile.begin, end_ = tile.begin + tile.rows;
    if (kScaled && threadIdx.x < kTileK) gate_ = gateOf(row_);
  }

  __device__ void next() {
    ++block_;
    row_ += kTileK;
  }

  template <int kPiece>
  __device__ void load(uint32_t target, int stage) {
    if constexpr (kPiece == 0) {
      if (kScaled && threadIdx.x < kTileK) {
        gates_[stage * kTileK + threadIdx.x] = gate_;
        gate_ = gateOf(row_ + kTileK);
      }
      if (p_.gather != nullptr) copyTokens();
      loadPanels<0, kTileM / kPanelColumns, kTileM / kPanelColumns>(
          target, left_, p_.left.gather != nullptr, static_cast<uint32_t>(p_.left.pitch / kVector), leftMask_);
    } else {
      constexpr int kPanels = kTileN / kPanelColumns / 2;
      loadPanels<(kPiece - 1) * kPanels, kPanels, 2 * kPanels>(target + kTileABytes, right_, rightGathered_,
                                                               rightPitch_, rightMask_);
    }
  }

 private:
  static constexpr int kRows = kTileK / kRowsAtOnce;

  template <int kColumns>
  static __device__ uint32_t maskOf(int32_t column, int32_t columns) {
    uint32_t mask = 0;
#pragma unroll
    for (int i = 0; i < kColumns / kPanelColumns; ++i)
      mask |= static_cast<uint32_t>(column + i * kPanelColumns + CopyLane().column() < columns) << i;
    return mask;
  }

  /// The gate of this thread's row in the block that begins at `row`; 0 past the group's end.
  __device__ float gateOf(int32_t row) const {
    row += static_cast<int32_t>(threadIdx.x);
    return row < end_ ? p_.gates.load(row) : 0.0f;
  }

  /// Takes this block's token numbers into registers, and starts the copy of a later block's numbers.
  __device__ void copyTokens() {
    const CopyLane lane;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int32_t inBlock = lane.row + i * kRowsAtOnce;
      if (block_ >= kIndexAhead) {
        token_[i] = tokens_[block_ % kIndexRing * kTileK + inBlock];
      } else {
        token_[i] = row_ + inBlock < end_ ? p_.gather[row_ + inBlock] : 0;
      }
    }
    const int32_t later = row_ + kIndexAhead * kTileK + static_cast<int32_t>(threadIdx.x);
    if (threadIdx.x < kTileK)
      copyWordAsync(sharedAddress(tokens_ + (block_ + kIndexAhead) % kIndexRing * kTileK + threadIdx.x),
                    p_.gather + (later < end_ ? later : 0), later < end_);
  }

  /// Copies kCount panels of 64 columns, from panel kFirst on, out of the kAll panels that the operand has in a tile.
  template <int kFirst, int kCount, int kAll>
  __device__ void loadPanels(uint32_t target, const T* source, bool gathered, uint32_t pitch, uint32_t mask) const {
    const CopyLane lane;
    const uint4* from[kRows];
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const uint32_t row = gathered ? token_[i] : row_ + lane.row + i * kRowsAtOnce;
      from[i] = reinterpret_cast<const uint4*>(source) + static_cast<uint64_t>(row) * pitch;
    }
    copyEach<kRows * kCount>(
        mask == (1u << kAll) - 1 && row_ + kTileK <= end_,
        [&](int i) {
          const int row = i / kCount, panel = kFirst + i % kCount;
          return Copy{target + panel * kPanelBytes + lane.target() + row * kCopyPitch, from[row] + panel * kChunks};
        },
        [&](int i) {
          return row_ + lane.row + i / kCount * kRowsAtOnce < end_ && (mask >> (kFirst + i % kCount) & 1) != 0;
        });
  }

  const ReductionProduct<T>& p_;
  int32_t first_;
  int32_t* const tokens_;  ///< [kIndexRing, kTileK], in shared memory
  float* const gates_;     ///< [stages, kTileK]
  const T *left_ = nullptr, *right_ = nullptr;
  uint32_t leftMask_ = 0, rightMask_ = 0, rightPitch_ = 0;
  bool rightGathered_ = false;
  int32_t block_ = 0, row_ = 0,
          end_ = 0;  ///< the block's number in the tile, the block's first row, and the end of the group
  int32_t token_[kRows] = {};
  float gate_ = 0;  ///< the gate of this thread's row of the next block
};

template <typename T, bool kWithGates, class ItsEngine>
struct ReductionWork {
  using Element = T;
  using Engine = ItsEngine;
  using Place = typename Engine::Place;
  using Params = ReductionProduct<T>;
  using Tiles = ReductionTiles;
  using Loader = ReductionLoader<T, kWithGates>;
  static constexpr bool kAByK = false, kBByK = false, kPaired = false, kScaled = kWithGates;

  static __device__ ReductionTiles makeTiles(const Params& params, int32_t* table) {
    return ReductionTiles(params.groups, ceilDivide(params.m, kTileM), ceilDivide(params.n, kTileN) * params.results,
                          table);
  }
  static __host__ __device__ constexpr int extraBytes(int stages) {
    return kIndexBytes + (kWithGates ? stages * kTileK * static_cast<int>(sizeof(float)) : 0);
  }

  __device__ ReductionWork(const Params& params, uint8_t* extra)
      : p(params), gates(reinterpret_cast<float*>(extra + kIndexBytes)) {}

  __device__ void loadScale(Fragments& fragments, int stage, int step) const {
    if constexpr (kWithGates) {
      const float* at = gates + stage * kTileK + step * 16 + threadIdx.x % 4 * 2;
      fragments.scale[0] = *reinterpret_cast<const float2*>(at);
      fragments.scale[1] = *reinterpret_cast<const float2*>(at + 8);
    }
  }
  __device__ void prepare(const Tile&) const {}

  __device__ void finish(const Sums& sums, const Tile& tile) const {
    const Place place;
    const int32_t nTilesEach = ceilDivide(p.n, kTileN);
    const int32_t result = tile.n / nTilesEach, n = (tile.n - result * nTilesEach) * kTileN;
    T* const matrix = p.out[result].of(tile.group);
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r)
#pragma unroll
      for (int c = 0; c < Place::template kChunksOf<false>; ++c) {
        const int32_t row = tile.m * kTileM + place.row(r), column = n + place.template column<false>(c);
        const float(*const fragments)[4] = Place::template first<false>(sums, r, c);
        storeChunk(matrix + row * p.out[result].pitch + column,
                   packRow<T>([&](int j) { return pairOf(fragments, j, Place::half(r)); }), row < p.m && column < p.n);
      }
  }

  const Params& p;
  const float* const gates;  ///< [stages, kTileK]
};

template <typename T>
void launch(const BoundStep& step, Context& context) {
  ReductionProduct<T> params;
  params.groups = groupsOf(step);
  params.left = rowTensor<const T>(step, &step.data(0));
  params.gather = params.left.gather;
  params.results = static_cast<int32_t>(step.outCount());
  for (int32_t i = 0; i < params.results; ++i) {
    params.right[i] = rowTensor<const T>(step, &step.data(1 + i));
    if (params.right[i].gather != nullptr) params.gather = params.right[i].gather;
    params.out[i] = weightTensor<T>(step, step.out(i));
  }
  params.m = static_cast<int32_t>(step.data(0).columns());
  params.n = static_cast<int32_t>(step.data(1).columns());
  if (const BoundOperand* gates = step.read(Use::gates)) {
    params.gates = {gates->data, gates->buffer->dtype};
    launchGemm<ReductionWork<T, true, MmaEngine>>(params, context);
  } else {
    withBestEngine(context, [&]<class Engine>() { launchGemm<ReductionWork<T, false, Engine>>(params, context); });
  }
}

}  // namespace

void fusedWeightGradient(const BoundStep& step, PlanRun& run) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) { launch<T>(step, run.context); });
}

}  // namespace moeblaze::cuda
