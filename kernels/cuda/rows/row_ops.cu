// Steps that move rows one to one (gathered, scattered or scaled), and the Step that multiplies and sums each row to
// one number.
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/rows/row_address.cuh"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

/// Vectors of each matrix that a lane loads before it uses them.
constexpr int kWide = 4;

unsigned blocksFor(int64_t items, int perBlock) { return static_cast<unsigned>((items + perBlock - 1) / perBlock); }

/// Each warp moves one part of one row, scaled by the row's factor. Writing in place is safe, because a lane has read
/// what it writes before it writes.
template <typename T, bool kScaled>
__global__ void __launch_bounds__(kRowThreads)
    moveKernel(RowParts parts, RowAddress address, RowOperand<const T> from, RowOperand<T> to, RowNumbers factors) {
  const RowPart part = parts.mine(kWide);
  if (part.item >= parts.items) return;
  const RowPlace place = address[part.item];
  const auto* in = reinterpret_cast<const uint4*>(from.at(place));
  auto* out = reinterpret_cast<uint4*>(to.at(place));
  const float factor = kScaled ? factors.load(place) : 1.0f;
  uint4 bits[kWide];
#pragma unroll
  for (int i = 0; i < kWide; ++i)
    if (const int64_t v = part.vector + i * kLanes; v < parts.vectors) bits[i] = in[v];
#pragma unroll
  for (int i = 0; i < kWide; ++i) {
    const int64_t v = part.vector + i * kLanes;
    if (v >= parts.vectors) continue;
    if constexpr (kScaled) {
      Vector<T> vector = fromBits<T>(bits[i]);
#pragma unroll
      for (float& value : vector.values) value *= factor;
      bits[i] = toBits(vector);
    }
    out[v] = bits[i];
  }
}

/// Does the same for one number of each row, of any dtypes. Each thread moves one number.
__global__ void __launch_bounds__(kRowThreads)
    moveNumbersKernel(RowAddress address, RowNumbers from, RowNumbers to, RowNumbers factors) {
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
  if (item >= address.count) return;
  const RowPlace place = address[item];
  to.store(place, from.load(place) * factors.load(place));
}

/// Each warp handles one row: it sums the row over its columns, multiplied by the second operand's row when there is
/// one.
template <typename T, bool kPair>
__global__ void __launch_bounds__(kRowThreads) dotKernel(int64_t vectors, RowAddress address, RowOperand<const T> first,
                                                         RowOperand<const T> second, RowNumbers out) {
  const int lane = threadIdx.x % kLanes;
  const int64_t item = static_cast<int64_t>(blockIdx.x) * kRowWarps + threadIdx.x / kLanes;
  if (item >= address.count) return;
  const RowPlace place = address[item];
  const auto* left = reinterpret_cast<const uint4*>(first.at(place));
  const auto* right = kPair ? reinterpret_cast<const uint4*>(second.at(place)) : nullptr;
  float sums[kWide] = {};
  for (int64_t base = lane; base < vectors; base += kLanes * kWide) {
    uint4 leftBits[kWide] = {}, rightBits[kWide] = {};  // zeros past the end add nothing
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      const int64_t v = base + i * kLanes;
      if (v < vectors) leftBits[i] = left[v];
      if (kPair && v < vectors) rightBits[i] = right[v];
    }
#pragma unroll
    for (int i = 0; i < kWide; ++i) {
      const Vector<T> a = fromBits<T>(leftBits[i]), b = fromBits<T>(rightBits[i]);
#pragma unroll
      for (int c = 0; c < kVector; ++c) sums[i] += kPair ? a.values[c] * b.values[c] : a.values[c];
    }
  }
  float sum = 0.0f;
#pragma unroll
  for (float part : sums) sum += part;
  sum = warpSum(sum);
  if (lane == 0) out.store(place, sum);
}

/// Launches gather, scatter and scaleRows.
void moveRows(const BoundStep& step, PlanRun& run) {
  const BoundOperand &in = step.data(0), &out = step.out(0);
  const BoundOperand* factor = step.read(Use::gates);
  if (factor == nullptr && step.step.op == Op::scaleRows) factor = &step.data(1);
  const RowAddress address(step);
  const RowNumbers factors(step, factor);
  if (address.count == 0) return;
  if (in.columns() == 1) {
    moveNumbersKernel<<<blocksFor(address.count, kRowThreads), kRowThreads, 0, run.context.stream()>>>(
        address, RowNumbers(step, &in), RowNumbers(step, &out), factors);
    MOEBLAZE_CUDA_CHECK(cudaGetLastError());
    return;
  }
  const RowParts parts(address.count, in.columns(), kWide);
  withElement(in.buffer->dtype, [&](auto element) {
    using T = decltype(element);
    const auto kernel = factors.given() ? moveKernel<T, true> : moveKernel<T, false>;
    kernel<<<parts.blocks, kRowThreads, 0, run.context.stream()>>>(parts, address, RowOperand<const T>(step, in),
                                                                   RowOperand<T>(step, out), factors);
    MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  });
}

void launchGateGradient(const BoundStep& step, PlanRun& run) {
  if (!weightsOf(step.reads).empty()) refuseStep(step, "gate gradients through a weight are not written for GPUs");
  const BoundOperand& first = step.data(0);
  const BoundOperand* second = step.dataCount() > 1 ? &step.data(1) : nullptr;
  const BoundOperand* parts = step.written(Use::parts);
  const RowNumbers out(step, parts != nullptr ? parts : &step.out(0));
  const RowAddress address(step);
  if (address.count == 0) return;
  withElement(first.buffer->dtype, [&](auto element) {
    using T = decltype(element);
    const auto kernel = second != nullptr ? dotKernel<T, true> : dotKernel<T, false>;
    kernel<<<blocksFor(address.count, kRowWarps), kRowThreads, 0, run.context.stream()>>>(
        first.columns() / kVector, address, RowOperand<const T>(step, first),
        second != nullptr ? RowOperand<const T>(step, *second) : RowOperand<const T>(), out);
    MOEBLAZE_CUDA_CHECK(cudaGetLastError());
  });
}

const char* whyNotGateGradient(const BoundStep& step, bool) {
  return weightsOf(step.reads).empty() ? nullptr : "its gate gradient multiplies again";
}

}  // namespace

namespace ops {
const CudaOp gather{moveRows};
const CudaOp scatter{moveRows};
const CudaOp scaleRows{moveRows};
const CudaOp gateGradient{launchGateGradient, whyNotGateGradient};
}  // namespace ops

}  // namespace moeblaze::cuda
