// Output gradient times W3ᵀ with the activation's backward in the epilogue. With g the product, unscaled, and s the
// row's gate: dB = s·g·act(A), dA = s·g·B·act'(A), Y.scaled = s·Y as the operand of W3's gradient, and the gate's
// gradient Σ g·Y in parts of 128 columns, so that Y was never kept. dA and dB may lie where A and B do.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/gemm_operands.cuh"
#include "kernels/cuda/steps.h"

namespace moeblaze::cuda {
namespace {

/// Columns of one partial sum of the gate gradient; what the Plan's parts count.
constexpr int kPartColumns = 128;

template <typename T, Activation kActivation>
struct DownBackwardWork : RowWork<T, true, false> {
  static constexpr bool kGated = isGated(kActivation);

  struct Params : RowProduct<T> {
    RowTensor<const T> projectionA, projectionB;
    RowTensor<T> aGradient, bGradient, scaledY;
    Numbers gates;           ///< [R]; none for shared experts
    float* parts = nullptr;  ///< [R, partsPerRow]; none for shared experts
    int32_t partsPerRow = 0;
  };

  static __host__ __device__ constexpr int extraBytes(int) {
    return kTileM * kWarpsAcross * static_cast<int>(sizeof(float));
  }

  __device__ DownBackwardWork(const Params& params, uint8_t* extra)
      : p(params), first(params.groups.begin(0)), rowSums(reinterpret_cast<float*>(extra)) {}

  /// The epilogue reads A and B once: on their way to the L2 cache before it asks.
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
    const WarpPlace place;
    const auto columnOf = [&](int group) {
      return tile.n * kTileN + place.across() * kWarpColumns + group * 32 + place.column();
    };
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint4 a[2][2], b[2][2];
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int group = 0; group < 2; ++group) {
          const int32_t row = tile.m * kTileM + place.row(i, half);
          const bool valid = row < tile.rows && columnOf(group) < p.n;
          a[half][group] = loadChunk(p.projectionA.at(tile.begin + row, first) + columnOf(group), valid);
          if (kGated) b[half][group] = loadChunk(p.projectionB.at(tile.begin + row, first) + columnOf(group), valid);
        }
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int32_t row = tile.m * kTileM + place.row(i, half);
        const float gate = p.gates.data != nullptr && row < tile.rows ? p.gates.load(tile.begin + row) : 1.0f;
        float gateGradient = 0;
#pragma unroll
        for (int group = 0; group < 2; ++group)
          gateGradient += store(tile.begin + row, columnOf(group), row < tile.rows && columnOf(group) < p.n, gate,
                                sums[i] + 4 * group, half, a[half][group], b[half][group]);
        gateGradient += __shfl_xor_sync(0xffffffffu, gateGradient, 1);
        gateGradient += __shfl_xor_sync(0xffffffffu, gateGradient, 2);
        if (place.lane % 4 == 0) rowSums[place.row(i, half) * kWarpsAcross + place.across()] = gateGradient;
      }
    }
    if (p.parts != nullptr) storeParts(tile);
  }

  /// 32 columns of one row; returns the lane's share of Σ g·Y.
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
      element(g[j][2 * half], a.x, b.x, aGradient[j].x, bGradient[j].x, scaledY[j].x);
      element(g[j][2 * half + 1], a.y, b.y, aGradient[j].y, bGradient[j].y, scaledY[j].y);
    }
    storeChunk(p.aGradient.at(row, first) + column, packRow<T>([&](int j) { return aGradient[j]; }), valid);
    if (kGated) storeChunk(p.bGradient.at(row, first) + column, packRow<T>([&](int j) { return bGradient[j]; }), valid);
    storeChunk(p.scaledY.at(row, first) + column, packRow<T>([&](int j) { return scaledY[j]; }), valid);
    return sum;
  }

  __device__ void storeParts(const Tile& tile) const {
    __syncthreads();
    constexpr int kPartsPerTile = kTileN / kPartColumns, kWarpsPerPart = kWarpsAcross / kPartsPerTile;
    const int32_t inTile = static_cast<int32_t>(threadIdx.x) % kTileM,
                  part = static_cast<int32_t>(threadIdx.x) / kTileM;
    const int32_t row = tile.m * kTileM + inTile, at = tile.n * kPartsPerTile + part;
    if (row >= tile.rows || at >= p.partsPerRow) return;
    const float* sums = rowSums + inTile * kWarpsAcross + part * kWarpsPerPart;
    p.parts[static_cast<int64_t>(tile.begin + row) * p.partsPerRow + at] = sums[0] + sums[1];
    static_assert(kWarpsPerPart == 2 && kGemmThreads == kTileM * kPartsPerTile);
  }

  const Params& p;
  const int32_t first;
  float* const rowSums;  ///< [kTileM, kWarpsAcross]
};

template <typename T, Activation kActivation>
void launch(const BoundStep& step, Context& context) {
  using Work = DownBackwardWork<T, kActivation>;
  typename Work::Params params;
  params.groups = groupsOf(step);
  params.a[0] = rowTensor<const T>(step, &step.data(0));
  params.b[0] = weightTensor<const T>(step, *weightsOf(step.reads).front());
  params.projectionA = rowTensor<const T>(step, step.read(Use::a));
  params.projectionB = rowTensor<const T>(step, step.read(Use::b));
  params.aGradient = rowTensor<T>(step, step.written(Use::a));
  params.bGradient = rowTensor<T>(step, step.written(Use::b));
  params.scaledY = rowTensor<T>(step, step.written(Use::y));
  params.k = static_cast<int32_t>(step.data(0).columns());
  params.n = static_cast<int32_t>(step.read(Use::a)->columns());
  params.nTiles = ceilDivide(params.n, kTileN);
  if (const BoundOperand* gates = step.read(Use::gates)) params.gates = {gates->data, gates->buffer->dtype};
  if (const BoundOperand* parts = step.written(Use::parts)) {
    params.parts = reinterpret_cast<float*>(parts->data);
    params.partsPerRow = static_cast<int32_t>(parts->columns());
  }
  launchGemm<Work>(params, context);
}

}  // namespace

void fusedDownBackward(const BoundStep& step, Context& context) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) {
    withActivation(step.plan.config.activation,
                   [&]<Activation kActivation>() { launch<T, kActivation>(step, context); });
  });
}

}  // namespace moeblaze::cuda
