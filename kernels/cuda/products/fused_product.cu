// Grouped and dense products of the indexed path: rows times their expert's matrix as it is stored, or times the matrix
// transposed. Rows that are tokens are read through the index structure.
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/gemm_operands.cuh"
#include "kernels/cuda/run/products.h"

namespace moeblaze::cuda {
namespace {

template <typename T>
struct ProductParams : RowProduct<T> {
  RowTensor<T> out;
  bool accumulates = false;  ///< adds to what `out` holds instead of writing over it
};

template <typename T, bool kTransposed, class Engine>
struct ProductWork : RowWork<T, ProductParams<T>, Engine, kTransposed, false> {
  using Base = RowWork<T, ProductParams<T>, Engine, kTransposed, false>;
  using Base::Base, Base::first, Base::p;
  using typename Base::Place;

  __device__ void finish(const Sums& sums, const Tile& tile) const {
    const Place place;
#pragma unroll
    for (int r = 0; r < Place::kRows; ++r) {
      const int32_t row = tile.m * kTileM + place.row(r);
      T* const target = p.out.at(tile.begin + row, first);
#pragma unroll
      for (int c = 0; c < Place::template kChunksOf<false>; ++c) {
        const int32_t column = tile.n * kTileN + place.template column<false>(c);
        const bool valid = row < tile.rows && column < p.n;
        const float(*const fragments)[4] = Place::template first<false>(sums, r, c);
        const UnpackedRow<T> old(loadChunk(target + column, valid && p.accumulates));
        const auto value = [&](int j) {
          const float2 sum = pairOf(fragments, j, Place::half(r)), before = old.pair(j);
          return float2{sum.x + before.x, sum.y + before.y};
        };
        storeChunk(target + column, packRow<T>(value), valid);
      }
    }
  }
};

template <typename T, bool kTransposed>
void launch(const BoundStep& step, Context& context) {
  ProductParams<T> params;
  bindRowProduct(step, params);
  params.parts = static_cast<int32_t>(weightsOf(step.reads).size());
  for (int32_t i = 1; i < params.parts; ++i) params.a[i] = rowTensor<const T>(step, &step.data(i));
  const BoundOperand& out = step.out(0);
  params.n = static_cast<int32_t>(out.columns());
  params.out = rowTensor<T>(step, &out);
  for (const BoundOperand& read : step.reads) params.accumulates |= read.data == out.data;
  withBestEngine(context, [&]<class Engine>() { launchGemm<ProductWork<T, kTransposed, Engine>>(params, context); });
}

}  // namespace

void fusedProduct(const BoundStep& step, PlanRun& run) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) {
    if (step.step.gemm.transposed) {
      launch<T, true>(step, run.context);
    } else {
      launch<T, false>(step, run.context);
    }
  });
}

}  // namespace moeblaze::cuda
