// Weight gradients of the indexed path: leftᵀ·right over each expert's rows, whose number only the device knows. Tokens
// are read through the index structure, and scaled by their gate on the way where the Plan says so. Experts without
// rows get zeros.
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/gemm_operands.cuh"
#include "kernels/cuda/steps.h"

namespace moeblaze::cuda {
namespace {

template <typename T>
struct ReductionProduct {
  Groups groups;
  RowTensor<const T> left, right[2];
  WeightTensor<T> out[2];
  const int32_t* gather = nullptr;  ///< of those operands that are gathered
  Numbers gates;                    ///< [R]
  int32_t m = 0, n = 0;             ///< of one result
  int32_t nTilesEach = 0, results = 1;
};

/// Copies blocks of 64 rows of both operands. Row numbers change with every block, so the next block's are fetched
/// while this one's are used.
template <typename T, bool kScaled>
class ReductionLoader {
 public:
  __device__ ReductionLoader(const ReductionProduct<T>& product, uint8_t* extra)
      : p_(product), first_(product.groups.begin(0)), gates_(reinterpret_cast<float*>(extra)) {}

  static __device__ int blocksOf(const ReductionProduct<T>&, const Tile& tile) { return ceilDivide(tile.rows, kTileK); }

  __device__ void begin(const Tile& tile) {
    tile_ = tile;
    fetch(0);
  }

  template <int kPiece>
  __device__ void load(uint32_t target, int stage, int block) {
    if constexpr (kPiece == 0) {
      if (kScaled && threadIdx.x < kTileK) gates_[stage * kTileK + threadIdx.x] = gate_;
      tokens_[0] = next_[0], tokens_[1] = next_[1];
      fetch(block + 1);
      loadPanels(target, p_.left, block, tile_.m * kTileM, p_.m, 0);
    } else {
      const int32_t result = tile_.n / p_.nTilesEach, n = tile_.n - result * p_.nTilesEach;
      loadPanels(target + kTileABytes, p_.right[result], block, n * kTileN, p_.n, (kPiece - 1) * 2);
    }
  }

 private:
  static constexpr int kRows = kTileK / kRowsAtOnce;

  __device__ void fetch(int block) {
    const CopyLane lane;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int32_t row = block * kTileK + lane.row + i * kRowsAtOnce;
      next_[i] = p_.gather != nullptr && row < tile_.rows ? p_.gather[tile_.begin + row] : 0;
    }
    if constexpr (kScaled) {
      const int32_t row = block * kTileK + static_cast<int32_t>(threadIdx.x);
      if (threadIdx.x < kTileK) gate_ = row < tile_.rows ? p_.gates.load(tile_.begin + row) : 0.0f;
    }
  }

  /// Two panels of 64 columns, from `panel` on, of the operand's columns from `column` on.
  __device__ void loadPanels(uint32_t target, const RowTensor<const T>& operand, int block, int32_t column,
                             int32_t columns, int panel) const {
    const CopyLane lane;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int32_t row = block * kTileK + lane.row + i * kRowsAtOnce;
      const int64_t source = operand.gather != nullptr ? tokens_[i] : tile_.begin + row - (operand.local ? first_ : 0);
#pragma unroll
      for (int j = 0; j < 2; ++j) {
        const int32_t at = column + (panel + j) * kPanelColumns + lane.column();
        const bool valid = row < tile_.rows && at < columns;
        copyAsync(target + (panel + j) * kPanelBytes + lane.target() + i * kCopyPitch,
                  valid ? operand.data + source * operand.pitch + at : operand.data, valid);
      }
    }
  }

  const ReductionProduct<T>& p_;
  int32_t first_;
  float* gates_;  ///< [stages, kTileK]
  Tile tile_;
  int32_t tokens_[kRows] = {}, next_[kRows] = {};
  float gate_ = 0;
};

template <typename T, bool kWithGates>
struct ReductionWork {
  using Element = T;
  using Params = ReductionProduct<T>;
  using Tiles = ReductionTiles;
  using Loader = ReductionLoader<T, kWithGates>;
  static constexpr bool kAByK = false, kBByK = false, kPaired = false, kScaled = kWithGates;

  static __device__ ReductionTiles makeTiles(const Params& params, int32_t* table) {
    return ReductionTiles(params.groups, ceilDivide(params.m, kTileM), params.nTilesEach * params.results, table);
  }
  static __host__ __device__ constexpr int extraBytes(int stages) {
    return kWithGates ? stages * kTileK * static_cast<int>(sizeof(float)) : 0;
  }

  __device__ ReductionWork(const Params& params, uint8_t* extra) : p(params), gates(reinterpret_cast<float*>(extra)) {}

  __device__ void loadScale(Fragments& fragments, int stage, int step) const {
    if constexpr (kWithGates) {
      const float* at = gates + stage * kTileK + step * 16 + threadIdx.x % 4 * 2;
      fragments.scale[0] = *reinterpret_cast<const float2*>(at);
      fragments.scale[1] = *reinterpret_cast<const float2*>(at + 8);
    }
  }
  __device__ void prepare(const Tile&) const {}

  __device__ void finish(const Sums& sums, const Tile& tile) const {
    const WarpPlace place;
    const int32_t result = tile.n / p.nTilesEach, n = (tile.n - result * p.nTilesEach) * kTileN;
    T* const matrix = p.out[result].of(tile.group);
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int group = 0; group < 2; ++group) {
          const int32_t row = tile.m * kTileM + place.row(i, half);
          const int32_t column = n + place.across() * kWarpColumns + group * 32 + place.column();
          const auto value = [&](int j) {
            const float* sum = sums[i][4 * group + j] + 2 * half;
            return float2{sum[0], sum[1]};
          };
          storeChunk(matrix + row * p.out[result].pitch + column, packRow<T>(value), row < p.m && column < p.n);
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
  params.nTilesEach = ceilDivide(params.n, kTileN);
  if (const BoundOperand* gates = step.read(Use::gates)) {
    params.gates = {gates->data, gates->buffer->dtype};
    launchGemm<ReductionWork<T, true>>(params, context);
  } else {
    launchGemm<ReductionWork<T, false>>(params, context);
  }
}

}  // namespace

void fusedWeightGradient(const BoundStep& step, Context& context) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) { launch<T>(step, context); });
}

}  // namespace moeblaze::cuda
