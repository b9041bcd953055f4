// Both first projections and the activation in one kernel: A and B are kept, where backward reads them, and so is
// Y = act(A)⊙B. x is read through the index structure; it is never copied.
#include "kernels/cuda/activation.cuh"
#include "kernels/cuda/epilogue.cuh"
#include "kernels/cuda/gemm_operands.cuh"
#include "kernels/cuda/steps.h"

namespace moeblaze::cuda {
namespace {

template <typename T, Activation kActivation>
struct UpWork : RowWork<T, false, isGated(kActivation)> {
  static constexpr bool kGated = isGated(kActivation);
  static constexpr int kColumns = kGated ? kTileN / 2 : kTileN;  ///< of Y in a tile

  struct Params : RowProduct<T> {
    RowTensor<T> projectionA, projectionB, y;  ///< any of them absent where nobody reads it
  };

  __device__ UpWork(const Params& params, uint8_t*) : p(params), first(params.groups.begin(0)) {}

  __device__ void finish(const Sums& sums, const Tile& tile) const {
    const WarpPlace place;
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
      for (int half = 0; half < 2; ++half)
#pragma unroll
        for (int group = 0; group < (kGated ? 1 : 2); ++group) {
          const int32_t row = tile.m * kTileM + place.row(i, half);
          const int32_t column =
              tile.n * kColumns + place.across() * (kColumns / kWarpsAcross) + group * 32 + place.column();
          store(tile.begin + row, column, row < tile.rows && column < p.n, sums[i] + 4 * group, sums[i] + 4, half);
        }
  }

  /// 32 columns of one row, a from four fragments and b from four others.
  __device__ void store(int32_t row, int32_t column, bool valid, const float (*a)[4], const float (*b)[4],
                        int half) const {
    const auto pairOf = [half](const float(*sums)[4]) {
      return [=](int j) { return float2{sums[j][2 * half], sums[j][2 * half + 1]}; };
    };
    if (p.projectionA.data != nullptr) storeChunk(p.projectionA.at(row, first) + column, packRow<T>(pairOf(a)), valid);
    if (kGated && p.projectionB.data != nullptr)
      storeChunk(p.projectionB.at(row, first) + column, packRow<T>(pairOf(b)), valid);
    if (p.y.data == nullptr) return;
    const auto y = [&](int j) {
      const float2 left = pairOf(a)(j), right = kGated ? pairOf(b)(j) : float2{1.0f, 1.0f};
      return float2{activate<kActivation>(left.x) * right.x, activate<kActivation>(left.y) * right.y};
    };
    storeChunk(p.y.at(row, first) + column, packRow<T>(y), valid);
  }

  const Params& p;
  const int32_t first;
};

template <typename T, Activation kActivation>
void launch(const BoundStep& step, Context& context) {
  using Work = UpWork<T, kActivation>;
  const auto weights = weightsOf(step.reads);
  typename Work::Params params;
  params.groups = groupsOf(step);
  params.a[0] = rowTensor<const T>(step, &step.data(0));
  for (size_t i = 0; i < weights.size(); ++i) params.b[i] = weightTensor<const T>(step, *weights[i]);
  params.k = static_cast<int32_t>(step.data(0).columns());
  params.n = static_cast<int32_t>(weights[0]->columns());
  params.nTiles = ceilDivide(params.n, Work::kColumns);
  params.projectionA = rowTensor<T>(step, step.written(Use::a));
  params.projectionB = rowTensor<T>(step, step.written(Use::b));
  params.y = rowTensor<T>(step, step.written(Use::y));
  launchGemm<Work>(params, context);
}

}  // namespace

void fusedUp(const BoundStep& step, Context& context) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) {
    withActivation(step.plan.config.activation,
                   [&]<Activation kActivation>() { launch<T, kActivation>(step, context); });
  });
}

}  // namespace moeblaze::cuda
