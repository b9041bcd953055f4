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
    const CopyLane lane;
    const int32_t result = tile.n / p_.nTilesEach, m = tile.m * kTileM, n = (tile.n - result * p_.nTilesEach) * kTileN;
    const RowTensor<const T>& right = p_.right[result];
    leftMask_ = maskOf<kTileM>(m, p_.m), rightMask_ = maskOf<kTileN>(n, p_.n);
    left_ = p_.left.data + m + lane.column();
    right_ = right.data + n + lane.column();
    left_ -= (p_.left.local ? first_ : 0) * p_.left.pitch;
    right_ -= (right.local ? first_ : 0) * right.pitch;
    rightGathered_ = right.gather != nullptr;
    rightPitch_ = static_cast<uint32_t>(right.pitch / kVector);
    row_ = tile.begin + lane.row, end_ = tile.begin + tile.rows;
    fetch();
    take();
  }

  __device__ void next() { take(); }

  template <int kPiece>
  __device__ void load(uint32_t target, int stage) {
    if constexpr (kPiece == 0) {
      if (kScaled && threadIdx.x < kTileK) gates_[stage * kTileK + threadIdx.x] = gate_;
      loadPanels<0, kTileM / kPanelColumns>(target, left_, p_.left.gather != nullptr,
                                            static_cast<uint32_t>(p_.left.pitch / kVector), leftMask_);
    } else {
      constexpr int kPanels = kTileN / kPanelColumns / 2;
      loadPanels<(kPiece - 1) * kPanels, kPanels>(target + kTileABytes, right_, rightGathered_, rightPitch_,
                                                  rightMask_);
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

  /// Tokens and gates of the block from row_ on.
  __device__ void fetch() {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int32_t row = row_ + i * kRowsAtOnce;
      nextTokens_[i] = p_.gather != nullptr && row < end_ ? p_.gather[row] : 0;
    }
    if constexpr (kScaled) {
      const int32_t row = row_ - CopyLane().row + static_cast<int32_t>(threadIdx.x);
      if (threadIdx.x < kTileK) nextGate_ = row < end_ ? p_.gates.load(row) : 0.0f;
    }
  }

  /// Makes the fetched block the current one and fetches the next.
  __device__ void take() {
    now_ = row_;
#pragma unroll
    for (int i = 0; i < kRows; ++i) tokens_[i] = nextTokens_[i];
    gate_ = nextGate_;
    row_ += kTileK;
    fetch();
  }

  /// Panels of 64 columns each.
  template <int kFirst, int kCount>
  __device__ void loadPanels(uint32_t target, const T* source, bool gathered, uint32_t pitch, uint32_t mask) const {
    const CopyLane lane;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int32_t row = now_ + i * kRowsAtOnce;
      const uint32_t from = static_cast<uint32_t>(gathered ? tokens_[i] : row);
      const uint4* const at = reinterpret_cast<const uint4*>(source) + static_cast<uint64_t>(from) * pitch;
      const uint32_t valid = row < end_ ? mask : 0;
#pragma unroll
      for (int j = kFirst; j < kFirst + kCount; ++j)
        copyAsync(target + j * kPanelBytes + lane.target() + i * kCopyPitch, at + j * kChunks, valid >> j & 1);
    }
  }

  const ReductionProduct<T>& p_;
  int32_t first_;
  float* gates_;  ///< [stages, kTileK]
  const T *left_ = nullptr, *right_ = nullptr;
  uint32_t leftMask_ = 0, rightMask_ = 0, rightPitch_ = 0;
  bool rightGathered_ = false;
  int32_t now_ = 0, row_ = 0, end_ = 0;  ///< the thread's first row of this block and of the next; the group's end
  int32_t tokens_[kRows] = {}, nextTokens_[kRows] = {};
  float gate_ = 0, nextGate_ = 0;
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
    const Place place;
    const int32_t result = tile.n / p.nTilesEach, n = (tile.n - result * p.nTilesEach) * kTileN;
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
struct ReductionOn {
  template <class Engine>
  using Work = ReductionWork<T, false, Engine>;
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
    launchGemm<ReductionWork<T, true, MmaEngine>>(params, context);
  } else {
    launchOnBestEngine<ReductionOn<T>::template Work>(params, context);
  }
}

}  // namespace

void fusedWeightGradient(const BoundStep& step, Context& context) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) { launch<T>(step, context); });
}

}  // namespace moeblaze::cuda
