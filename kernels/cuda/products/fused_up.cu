// Both first projections and the activation in one kernel. It writes A and B, where backward reads them, and Y =
// act(A)⊙B. x is read through the index structure and never copied.
#include "kernels/cuda/base/activation.cuh"
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/gemm_operands.cuh"
#include "kernels/cuda/run/ops.h"
#include "kernels/cuda/run/products.h"

namespace moeblaze::cuda {
namespace {

template <typename T>
struct UpParams : RowProduct<T> {
  RowTensor<T> projectionA, projectionB, y;  ///< each is absent when no later Step reads it
};

template <typename T, Activation kActivation, class Engine>
struct UpWork : RowWork<T, UpParams<T>, Engine, false, isGated(kActivation)> {
  using Base = RowWork<T, UpParams<T>, Engine, false, isGated(kActivation)>;
  using Base::Base, Base::first, Base::p;
  using typename Base::Place;
  static constexpr bool kGated = isGated(kActivation);

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

  /// Stores 32 columns of one row. Outputs that no one reads are computed but not stored, which avoids branches and
  /// lets the work of neighbouring chunks overlap.
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
};

template <typename T, Activation kActivation>
void launch(const BoundStep& step, Context& context) {
  UpParams<T> params;
  bindRowProduct(step, params);
  params.n = static_cast<int32_t>(weightsOf(step.reads).front()->columns());
  params.projectionA = rowTensor<T>(step, step.written(Use::a));
  params.projectionB = rowTensor<T>(step, step.written(Use::b));
  params.y = rowTensor<T>(step, step.written(Use::y));
  withBestEngine(context, [&]<class Engine>() { launchGemm<UpWork<T, kActivation, Engine>>(params, context); });
}

void launchFusedUp(const BoundStep& step, PlanRun& run) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) {
    withActivation(step.plan.config.activation,
                   [&]<Activation kActivation>() { launch<T, kActivation>(step, run.context); });
  });
}

}  // namespace

namespace ops {
const CudaOp fusedUp{launchFusedUp, whyNotProduct};
}  // namespace ops

}  // namespace moeblaze::cuda
