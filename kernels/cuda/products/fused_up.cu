// Both first projections and the activation in one kernel: A and B are kept, where backward reads them, and so is
// Y = act(A)⊙B. x is read through the index structure; it is never copied.
#include "kernels/cuda/base/activation.cuh"
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/gemm_operands.cuh"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

template <typename T>
struct UpParams : RowProduct<T> {
  RowTensor<T> projectionA, projectionB, y;  ///< any of them absent where nobody reads it
};

template <typename T, Activation kActivation, class Engine>
struct UpWork : RowWork<T, Engine, false, isGated(kActivation)> {
  static constexpr bool kGated = isGated(kActivation);
  using Params = UpParams<T>;
  using Place = typename Engine::Place;

  __device__ UpWork(const Params& params, uint8_t*) : p(params), first(params.groups.begin(0)) {}

  __device__ void finish(const Sums& sums, const Tile& tile) const {
    const Place place;
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r)
#pragma unroll
      for (int c = 0; c < Place::template kChunksOf<kGated>; ++c) {
        const int32_t row = tile.m * kTileM + place.row(r);
        const int32_t column = tile.n * UpWork::kColumns + place.template column<kGated>(c);
        store(tile.begin + row, column, row < tile.rows && column < p.n, Place::template first<kGated>(sums, r, c),
              Place::second(sums, r, c), Place::half(r));
      }
  }

  /// 32 columns of one row. What nobody reads is worked out and not stored: without branches, chunks overlap.
  __device__ void store(int32_t row, int32_t column, bool valid, const float (*a)[4], const float (*b)[4],
                        int half) const {
    const auto y = [&](int j) {
      const float2 left = pairOf(a, j, half), right = kGated ? pairOf(b, j, half) : float2{1.0f, 1.0f};
      return float2{activate<kActivation>(left.x) * right.x, activate<kActivation>(left.y) * right.y};
    };
    storeChunk(p.projectionA.at(row, first) + column, packRow<T>([&](int j) { return pairOf(a, j, half); }),
               valid && p.projectionA.data != nullptr);
    if constexpr (kGated)
      storeChunk(p.projectionB.at(row, first) + column, packRow<T>([&](int j) { return pairOf(b, j, half); }),
                 valid && p.projectionB.data != nullptr);
    storeChunk(p.y.at(row, first) + column, packRow<T>(y), valid && p.y.data != nullptr);
  }

  const Params& p;
  const int32_t first;
};

template <typename T, Activation kActivation>
struct UpOn {
  template <class Engine>
  using Work = UpWork<T, kActivation, Engine>;
};

template <typename T, Activation kActivation>
void launch(const BoundStep& step, Context& context) {
  const auto weights = weightsOf(step.reads);
  UpParams<T> params;
  params.groups = groupsOf(step);
  params.a[0] = rowTensor<const T>(step, &step.data(0));
  for (size_t i = 0; i < weights.size(); ++i) params.b[i] = weightTensor<const T>(step, *weights[i]);
  params.k = static_cast<int32_t>(step.data(0).columns());
  params.n = static_cast<int32_t>(weights[0]->columns());
  params.projectionA = rowTensor<T>(step, step.written(Use::a));
  params.projectionB = rowTensor<T>(step, step.written(Use::b));
  params.y = rowTensor<T>(step, step.written(Use::y));
  launchOnBestEngine<UpOn<T, kActivation>::template Work>(params, context);
}

}  // namespace

void fusedUp(const BoundStep& step, Context& context) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) {
    withActivation(step.plan.config.activation,
                   [&]<Activation kActivation>() { launch<T, kActivation>(step, context); });
  });
}

}  // namespace moeblaze::cuda
