// The router's three products, whose dtypes are mixed and whose number of experts is arbitrary. Each block computes one
// tile of the result; tiles of the operands pass through shared memory, and sums are fp32.
#include <algorithm>

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/base/element.cuh"
#include "kernels/cuda/base/refuse.h"
#include "kernels/cuda/run/products.h"

namespace moeblaze::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kDepth = 16;  ///< depth of a tile along the reduction
/// Row padding, in floats, that reduces shared-memory bank conflicts when a tile is written along the reduction.
constexpr int kPadding = 4;
/// Neighbouring columns that a thread computes.
constexpr int kColumns = 4;

/// C [m, n] = A [m, k] · B [k, n].
struct ProductShape {
  int64_t m, n, k;
  int64_t left, right, out;
  int64_t perSplit;  ///< part of k that each split sums, a multiple of kDepth; split z writes the z-th matrix of `out`
  bool accumulates;  ///< adds to what C holds instead of writing over it
};

/// Loads a tile of kWidth rows or columns by kDepth of the reduction, into registers and then into shared memory.
/// kAlong tells that neighbours in memory follow the reduction.
template <typename T, int kWidth, bool kAlong>
struct TileLoader {
  static constexpr int kEach = kWidth * kDepth / kThreads;
  T values[kEach];

  __device__ static int depthOf(int i) {
    const int at = threadIdx.x + i * kThreads;
    return kAlong ? at % kDepth : at / kWidth;
  }
  __device__ static int placeOf(int i) {
    const int at = threadIdx.x + i * kThreads;
    return kAlong ? at / kDepth : at % kWidth;
  }
  /// Loads zeros past `width` and past `end`.
  __device__ void load(const T* data, int64_t stride, int64_t first, int64_t width, int64_t begin, int64_t end) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int64_t place = first + placeOf(i), depth = begin + depthOf(i);
      values[i] = fromFloat<T>(0.0f);
      if (place < width && depth < end) values[i] = data[kAlong ? place * stride + depth : depth * stride + place];
    }
  }
  __device__ void keep(float (&tile)[kDepth][kWidth + kPadding]) const {
#pragma unroll
    for (int i = 0; i < kEach; ++i) tile[depthOf(i)][placeOf(i)] = toFloat(values[i]);
  }
};

/// Each block computes one tile of C, kRows by kWidth, over one split of k. The next tiles of A and B are loaded into
/// registers while the present ones are multiplied.
template <int kRows, int kWidth, bool kLeftAlong, bool kRightAlong, typename A, typename B, typename C>
__global__ void __launch_bounds__(kThreads) productKernel(ProductShape shape, const A* left, const B* right, C* out) {
  constexpr int kAcross = kWidth / kColumns, kEach = kRows * kAcross / kThreads;
  static_assert(kEach > 0 && kWidth * kDepth % kThreads == 0 && kRows * kDepth % kThreads == 0);
  __shared__ __align__(16) float leftTile[kDepth][kRows + kPadding];
  __shared__ __align__(16) float rightTile[kDepth][kWidth + kPadding];
  const int row = threadIdx.x / kAcross * kEach, column = threadIdx.x % kAcross * kColumns;
  const int64_t firstRow = static_cast<int64_t>(blockIdx.x) * kRows;
  const int64_t firstColumn = static_cast<int64_t>(blockIdx.y) * kWidth;
  const int64_t begin = min(blockIdx.z * shape.perSplit, shape.k), end = min(begin + shape.perSplit, shape.k);
  TileLoader<A, kRows, kLeftAlong> nextLeft;
  TileLoader<B, kWidth, kRightAlong> nextRight;
  float sums[kEach][kColumns] = {};
  nextLeft.load(left, shape.left, firstRow, shape.m, begin, end);
  nextRight.load(right, shape.right, firstColumn, shape.n, begin, end);
  for (int64_t at = begin; at < end; at += kDepth) {
    __syncthreads();
    nextLeft.keep(leftTile);
    nextRight.keep(rightTile);
    __syncthreads();
    nextLeft.load(left, shape.left, firstRow, shape.m, at + kDepth, end);
    nextRight.load(right, shape.right, firstColumn, shape.n, at + kDepth, end);
#pragma unroll
    for (int depth = 0; depth < kDepth; ++depth) {
      const float4 b = *reinterpret_cast<const float4*>(&rightTile[depth][column]);
#pragma unroll
      for (int i = 0; i < kEach; ++i) {
        const float a = leftTile[depth][row + i];
        sums[i][0] += a * b.x;
        sums[i][1] += a * b.y;
        sums[i][2] += a * b.z;
        sums[i][3] += a * b.w;
      }
    }
  }
  C* matrix = out + static_cast<int64_t>(blockIdx.z) * shape.m * shape.out;
#pragma unroll
  for (int i = 0; i < kEach; ++i)
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const int64_t m = firstRow + row + i, n = firstColumn + column + c;
      if (m >= shape.m || n >= shape.n) continue;
      C& target = matrix[m * shape.out + n];
      target = fromFloat<C>(shape.accumulates ? toFloat(target) + sums[i][c] : sums[i][c]);
    }
}

/// Each thread computes one element: it adds the element's partial sums in order.
template <typename T>
__global__ void __launch_bounds__(kThreads)
    sumSplitsKernel(int64_t count, int64_t columns, int64_t splits, const float* partial, T* out, int64_t stride) {
  const int64_t at = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= count) return;
  float sum = 0.0f;
#pragma unroll 8
  for (int64_t split = 0; split < splits; ++split) sum += partial[split * count + at];
  out[at / columns * stride + at % columns] = fromFloat<T>(sum);
}

int64_t ceilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <int kRows, int kWidth, bool kLeftAlong, bool kRightAlong, typename A, typename B, typename C>
void launchTiles(const ProductShape& shape, const A* left, const B* right, C* out, cudaStream_t stream) {
  const dim3 blocks(static_cast<unsigned>(ceilDivide(shape.m, kRows)),
                    static_cast<unsigned>(ceilDivide(shape.n, kWidth)),
                    static_cast<unsigned>(std::max<int64_t>(1, ceilDivide(shape.k, shape.perSplit))));
  productKernel<kRows, kWidth, kLeftAlong, kRightAlong><<<blocks, kThreads, 0, stream>>>(shape, left, right, out);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

/// Chooses tiles as narrow as the result, so that few experts waste little.
template <bool kLeftAlong, bool kRightAlong, typename A, typename B, typename C>
void multiply(const ProductShape& shape, const A* left, const B* right, C* out, cudaStream_t stream) {
  if (shape.n <= 16) return launchTiles<128, 16, kLeftAlong, kRightAlong>(shape, left, right, out, stream);
  if (shape.n <= 32) return launchTiles<64, 32, kLeftAlong, kRightAlong>(shape, left, right, out, stream);
  launchTiles<64, 64, kLeftAlong, kRightAlong>(shape, left, right, out, stream);
}

template <typename T>
T* elements(const BoundStep& step, const BoundOperand& operand) {
  if (sizeOf(operand.buffer->dtype) != static_cast<int64_t>(sizeof(T)))
    refuseStep(step, "has operands of other dtypes than a router");
  return reinterpret_cast<T*>(operand.data);
}

/// The logits: x [L, d] · Wr [d, E].
template <typename T>
void logits(const BoundStep& step, cudaStream_t stream) {
  const BoundOperand &x = step.data(0), &weight = *weightsOf(step.reads).at(0), &out = step.out(0);
  const ProductShape shape{out.rows(),
                           out.columns(),
                           x.columns(),
                           x.rowStride,
                           weight.rowStride,
                           out.rowStride,
                           ceilDivide(x.columns(), kDepth) * kDepth,
                           false};
  multiply<true, false>(shape, elements<const T>(step, x), elements<const T>(step, weight), elements<float>(step, out),
                        stream);
}

/// The input gradient: dlogits [L, E] · Wrᵀ, added to what dx [L, d] holds if the Step reads dx.
template <typename T>
void inputGradient(const BoundStep& step, cudaStream_t stream) {
  const BoundOperand &gradient = step.data(0), &weight = *weightsOf(step.reads).at(0), &out = step.out(0);
  const bool accumulates = step.dataCount() > 1 && step.data(1).buffer == out.buffer;
  const ProductShape shape{out.rows(),
                           out.columns(),
                           gradient.columns(),
                           gradient.rowStride,
                           weight.rowStride,
                           out.rowStride,
                           ceilDivide(gradient.columns(), kDepth) * kDepth,
                           accumulates};
  launchTiles<64, 64, true, true>(shape, elements<const float>(step, gradient), elements<const T>(step, weight),
                                  elements<T>(step, out), stream);
}

/// The weight gradient: xᵀ [d, L] · dlogits [L, E]. The tokens are split among blocks, and a second kernel adds the
/// blocks' partial sums in order.
template <typename T>
void weightGradient(const BoundStep& step, cudaStream_t stream) {
  const BoundOperand &x = step.data(0), &gradient = step.data(1), &out = step.out(0);
  const auto partial = std::find_if(step.writes.begin(), step.writes.end(), [](const BoundOperand& operand) {
    return operand.buffer->role == Role::workspace && operand.buffer->dtype == DType::fp32;
  });
  if (partial == step.writes.end()) refuseStep(step, "has no fp32 workspace for partial sums");
  const int64_t m = out.rows(), n = out.columns(), tokens = x.rows();
  const int64_t most = partial->buffer->shape.extents()[0];
  if (most < 1 || partial->buffer->shape.count() < most * m * n) refuseStep(step, "has too small a workspace");
  const int64_t perSplit = ceilDivide(ceilDivide(tokens, most), kDepth) * kDepth;
  const int64_t splits = ceilDivide(tokens, perSplit);
  auto* sums = elements<float>(step, *partial);
  const ProductShape shape{m, n, tokens, x.rowStride, gradient.rowStride, n, perSplit, false};
  multiply<false, false>(shape, elements<const T>(step, x), elements<const float>(step, gradient), sums, stream);
  sumSplitsKernel<<<static_cast<unsigned>(ceilDivide(m * n, kThreads)), kThreads, 0, stream>>>(
      m * n, n, splits, sums, elements<T>(step, out), out.rowStride);
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

void routerProduct(const BoundStep& step, PlanRun& run) {
  withElement(step.plan.config.dtype, [&](auto element) {
    using T = decltype(element);
    if (step.step.op == Op::weightGradient) return weightGradient<T>(step, run.context.stream());
    if (step.step.gemm.transposed) return inputGradient<T>(step, run.context.stream());
    logits<T>(step, run.context.stream());
  });
}

}  // namespace moeblaze::cuda
