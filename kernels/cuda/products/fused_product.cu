// Grouped and dense products of the indexed path: rows, read through the index structure where they are tokens, times
// their expert's matrix as it is stored, or its transpose.
#include "kernels/cuda/gemm/epilogue.cuh"
#include "kernels/cuda/gemm/gemm_operands.cuh"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

template <typename T>
struct ProductParams : RowProduct<T> {
  RowTensor<T> out;
  bool accumulates = false;  ///< adds to what is there
};

template <typename T, bool kTransposed, class Engine>
struct ProductWork : RowWork<T, Engine, kTransposed, false> {
  using Params = ProductParams<T>;
  using Place = typename Engine::Place;

  __device__ ProductWork(const Params& params, uint8_t*) : p(params), first(params.groups.begin(0)) {}

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

  const Params& p;
  const int32_t first;
};

template <typename T, bool kTransposed>
struct ProductOn {
  template <class Engine>
  using Work = ProductWork<T, kTransposed, Engine>;
};

template <typename T, bool kTransposed>
void launch(const BoundStep& step, Context& context) {
  const auto weights = weightsOf(step.reads);
  ProductParams<T> params;
  params.groups = groupsOf(step);
  params.parts = static_cast<int32_t>(weights.size());
  for (size_t i = 0; i < weights.size(); ++i) {
    params.a[i] = rowTensor<const T>(step, &step.data(i));
    params.b[i] = weightTensor<const T>(step, *weights[i]);
  }
  const BoundOperand& out = step.out(0);
  params.k = static_cast<int32_t>(step.data(0).columns());
  params.n = static_cast<int32_t>(out.columns());
  params.out = rowTensor<T>(step, &out);
  for (const BoundOperand& read : step.reads) params.accumulates |= read.data == out.data;
  launchOnBestEngine<ProductOn<T, kTransposed>::template Work>(params, context);
}

}  // namespace

void fusedProduct(const BoundStep& step, Context& context) {
  withElement(step.plan.config.dtype, [&]<typename T>(T) {
    if (step.step.gemm.transposed) {
      launch<T, true>(step, context);
    } else {
      launch<T, false>(step, context);
    }
  });
}

}  // namespace moeblaze::cuda
