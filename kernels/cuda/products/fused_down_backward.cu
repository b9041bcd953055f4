// The output gradient times W3ᵀ, with the backward of the activation in the epilogue. Let g be the product before
// scaling and s the row's gate. Then dB = s·g·act(A) and dA = s·g·B·act'(A); Y.scaled = s·Y is the operand of W3's
// gradient; and the gate's gradient Σ g·Y is written in parts of 128 columns, so that Y need not be kept. dA and dB may
// lie where A and B do.
#include "kernels/cuda/base/activation.cuh"
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/gemm_operands.cuh"
#include "kernels/cuda/run/ops.h"
#include "kernels/cuda/run/products.h"

namespace moeblaze::cuda {
namespace {

/// Columns that one part of the gate's gradient sums. The Plan counts parts of the same width.
constexpr int kPartColumns = 128;
/// Columns of a row that one warp sums by itself.
constexpr int kGroupColumns = 64;

template <typename T>
struct DownBackwardParams : RowProduct<T> {
  RowTensor<const T> projectionA, projectionB;
  RowTensor<T> aGradient, bGradient, scaledY;
  Numbers gates;           ///< [R]; absent for shared experts
  float* parts = nullptr;  ///< [R, partsPerRow]; null for shared experts
  int32_t partsPerRow = 0;
};

template <typename T, Activation kActivation, class Engine>
struct DownBackwardWork : RowWork<T, DownBackwardParams<T>, Engine, true, false> {
  using Base = RowWork<T, DownBackwardParams<T>, Engine, true, false>;
  using Base::first, Base::p;
  using typename Base::Params, typename Base::Place;
  static constexpr bool kGated = isGated(kActivation);
  static constexpr int kColumnGroups = kTileN / kGroupColumns;

  static __host__ __device__ constexpr int extraBytes(int) {
    return kTileM * kColumnGroups * static_cast<int>(sizeof(float));
  }

  __device__ DownBackwardWork(const Params& params, uint8_t* extra)
      : Base(params, extra), rowSums(reinterpret_cast<float*>(extra)) {}

  /// Prefetches A and B, which the epilogue reads once, into the L2 cache.
  __device__ void prepare(const Tile& tile) const {
    constexpr int kLines = kTileN / kPanelColumns;
    for (int line = static_cast<int>(threadIdx.x); line < kTileM * kLines; line += kGemmThreads) {
      const int32_t row = tile.m * kTileM + line / kLines, column = tile.n * kTileN + line % kLines * kPanelColumns;
      if (row >= tile.rows || column >= p.n) continue;
      prefetchL2(p.projectionA.at(tile.begin + row, first) + column);
      if (kGated) prefetchL2(p.projectionB.at(tile.begin + row, first) + column);
    }
  }

  __device__ void finish(const Sums& sums, const Tile& tile) const {
    constexpr int kChunks = Place::template kChunksOf<false>, kAhead = 2;
    const Place place;
    float gates[Place::kRows];
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r) {
      const int32_t row = tile.m * kTileM + place.row(r);
      gates[r] = p.gates.data != nullptr && row < tile.rows ? p.gates.load(tile.begin + row) : 1.0f;
    }
    // Two chunks of A and B are being loaded while two are worked on.
    uint4 a[2][kAhead], b[2][kAhead];
    loadChunks<kAhead>(tile, 0, a[0], b[0]);
    float gateGradient = 0;
#pragma unroll
    for (int batch = 0; batch < Place::kRows * kChunks; batch += kAhead) {
      const int now = batch / kAhead % 2;
      if (batch + kAhead < Place::kRows * kChunks) loadChunks<kAhead>(tile, batch + kAhead, a[1 - now], b[1 - now]);
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        const int r = (batch + i) / kChunks, c = (batch + i) % kChunks;
        const int32_t row = tile.m * kTileM + place.row(r), inTile = place.template column<false>(c);
        const bool valid = row < tile.rows && tile.n * kTileN + inTile < p.n;
        gateGradient += store(tile.begin + row, tile.n * kTileN + inTile, valid, gates[r],
                              Place::template first<false>(sums, r, c), Place::half(r), a[now][i], b[now][i]);
        if (c % 2 == 0) continue;  // two chunks make up the 64 columns of one row sum
        gateGradient += __shfl_xor_sync(0xffffffffu, gateGradient, 1);
        gateGradient += __shfl_xor_sync(0xffffffffu, gateGradient, 2);
        if (place.lane % 4 == 0) rowSums[place.row(r) * kColumnGroups + inTile / kGroupColumns] = gateGradient;
        gateGradient = 0;
      }
    }
    if (p.parts != nullptr) storeParts(tile);
  }

  /// Loads kCount chunks of A and B, starting with the lane's `batch`-th.
  template <int kCount>
  __device__ void loadChunks(const Tile& tile, int batch, uint4 (&a)[kCount], uint4 (&b)[kCount]) const {
    constexpr int kChunks = Place::template kChunksOf<false>;
    const Place place;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int32_t row = tile.m * kTileM + place.row((batch + i) / kChunks);
      const int32_t column = tile.n * kTileN + place.template column<false>((batch + i) % kChunks);
      const bool valid = row < tile.rows && column < p.n;
      a[i] = loadChunk(p.projectionA.at(tile.begin + row, first) + column, valid);
      if (kGated) b[i] = loadChunk(p.projectionB.at(tile.begin + row, first) + column, valid);
    }
  }

  /// Stores 32 columns of one row. Returns the lane's share of Σ g·Y.
  __device__ float store(int32_t row, int32_t column, bool valid, float gate, const float (*g)[4], int half,
                         const uint4& aBits, const uint4& bBits) const {
    const UnpackedRow<T> aRow(aBits), bRow(kGated ? bBits : uint4{});
    float2 aGradient[4], bGradient[4], scaledY[4];
    float sum = 0;
    const auto element = [&](float upstream, float a, float b, float& da, float& db, float& y) {
      const Activated act = activateBoth<kActivation>(a);
      const float value = kGated ? act.value * b : act.value, scaled = gate * upstream;
      sum += upstream * value;
      y = gate * value;
      da = scaled * (kGated ? b * act.derivative : act.derivative);
      db = scaled * act.value;
    };
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const float2 a = aRow.pair(j), b = bRow.pair(j);
      element(pairOf(g, j, half).x, a.x, b.x, aGradient[j].x, bGradient[j].x, scaledY[j].x);
      element(pairOf(g, j, half).y, a.y, b.y, aGradient[j].y, bGradient[j].y, scaledY[j].y);
    }
    storeChunk(p.aGradient.at(row, first) + column, packRow<T>([&](int j) { return aGradient[j]; }), valid);
    if (kGated) storeChunk(p.bGradient.at(row, first) + column, packRow<T>([&](int j) { return bGradient[j]; }), valid);
    storeChunk(p.scaledY.at(row, first) + column, packRow<T>([&](int j) { return scaledY[j]; }), valid);
    return sum;
  }

  __device__ void storeParts(const Tile& tile) const {
    __syncthreads();
    constexpr int kPartsPerTile = kTileN / kPartColumns;
    static_assert(kPartColumns == 2 * kGroupColumns);
    for (int32_t i = static_cast<int32_t>(threadIdx.x); i < kTileM * kPartsPerTile; i += kGemmThreads) {
      const int32_t row = tile.m * kTileM + i % kTileM, part = i / kTileM, at = tile.n * kPartsPerTile + part;
      if (row >= tile.rows || at >= p.partsPerRow) continue;
      const float* sums = rowSums + i % kTileM * kColumnGroups + 2 * part;
      p.parts[static_cast<int64_t>(tile.begin + row) * p.partsPerRow + at] = sums[0] + sums[1];
    }
  }

  float* const rowSums;  ///< [kTileM, kColumnGroups], in shared memory
};

template <typename T, Activation kActivation>
void launch(const BoundStep& step, Context& context) {
  DownBackwardParams<T> params;
  bindRowProduct(step, params);
  params.projectionA = rowTensor<const T>(step, step.read(Use::a));
  params.projectionB = rowTensor<const T>(step, step.read(Use::b));
  params.aGradient = rowTensor<T>(step, step.written(Use::a));
  params.bGradient = rowTensor<T>(step, step.written(Use::b));
  params.scaledY = rowTensor<T>(step, step.written(Use::y));
  params.n = static_cast<int32_t>(step.read(Use::a)->columns());
  if (const BoundOperand* gates = step.read(Use::gates)) params.gates = {gates->data, gates->buffer->dtype};
  if (const BoundOperand* parts = step.written(Use::parts)) {
    params.parts = reinterpret_cast<float*>(parts->data);
    params.partsPerRow = static_cast<int32_t>(parts->columns());
  }
  withBestEngine(context,
                 [&]<class Engine>() { launchGemm<DownBackwardWork<T, kActivation, Engine>>(params, context); });
}

void launchFusedDownBackward(const BoundStep& step, PlanRun& run) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) {
    withActivation(step.plan.config.activation,
                   [&]<Activation kActivation>() { launch<T, kActivation>(step, run.context); });
  });
}

}  // namespace

namespace ops {
const CudaOp fusedDownBackward{launchFusedDownBackward, whyNotProduct};
}  // namespace ops

}  // namespace moeblaze::cuda
