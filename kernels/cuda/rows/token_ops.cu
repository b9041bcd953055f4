// Steps that sum rows or slots to their tokens. A token's choices are added in order, so that repeated runs give the
// same bits.
#include "kernels/cuda/base/check.h"
#include "kernels/cuda/rows/row_address.cuh"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

/// Parts of a row's gate gradient that a thread reads before it adds them.
constexpr int64_t kAhead = 8;

/// Tells where the summands of a token lie.
struct Summands {
  Indices rowOfSlot;         ///< without data the summands are slots
  bool choiceMajor = false;  ///< slots are ordered [k, L] instead of [L, k]
  int64_t tokens = 0, topK = 0;

  __device__ int64_t operator()(int64_t token, int64_t choice) const {
    if (rowOfSlot.data != nullptr) return rowOfSlot[token * topK + choice];
    return choiceMajor ? choice * tokens + token : token * topK + choice;
  }
};

template <typename T>
Rows<T> rowsOf(const BoundOperand& operand) {
  return {reinterpret_cast<T*>(operand.data), operand.rowStride};
}

/// Each warp sums one part of one token's columns. A lane loads kWide vectors of kBatch summands before it adds them.
/// The sums start from `before` if it is given; it may be `out` itself.
template <typename T, int kBatch, int kWide>
__global__ void __launch_bounds__(kRowThreads)
    sumKernel(RowParts parts, Summands summands, Rows<const T> rows, Numbers gates, bool gatesByRow,
              Rows<const T> before, Rows<T> out) {
  const RowPart part = parts.mine(kWide);
  const int64_t token = part.item;
  if (token >= parts.items) return;
  float sums[kWide][kVector] = {};
  if (before.data != nullptr) {
#pragma unroll
    for (int w = 0; w < kWide; ++w) {
      const int64_t v = part.vector + w * kLanes;
      if (v >= parts.vectors) continue;
      const Vector<T> vector = Vector<T>::load(before.row(token) + v * kVector);
#pragma unroll
      for (int c = 0; c < kVector; ++c) sums[w][c] = vector.values[c];
    }
  }
  for (int64_t first = 0; first < summands.topK; first += kBatch) {
    uint4 bits[kBatch][kWide];
    float factors[kBatch];
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (first + i >= summands.topK) continue;
      const int64_t row = summands(token, first + i);
      const auto* from = reinterpret_cast<const uint4*>(rows.row(row));
#pragma unroll
      for (int w = 0; w < kWide; ++w)
        if (const int64_t v = part.vector + w * kLanes; v < parts.vectors) bits[i][w] = from[v];
      factors[i] = gates.data == nullptr ? 1.0f : gates.load(gatesByRow ? row : token * summands.topK + first + i);
    }
#pragma unroll
    for (int i = 0; i < kBatch; ++i) {
      if (first + i >= summands.topK) continue;
#pragma unroll
      for (int w = 0; w < kWide; ++w) {
        // Past the end of the row the value is undefined, but it is never stored.
        const Vector<T> vector = fromBits<T>(bits[i][w]);
#pragma unroll
        for (int c = 0; c < kVector; ++c) sums[w][c] += factors[i] * vector.values[c];
      }
    }
  }
#pragma unroll
  for (int w = 0; w < kWide; ++w) {
    const int64_t v = part.vector + w * kLanes;
    if (v >= parts.vectors) continue;
    Vector<T> vector;
#pragma unroll
    for (int c = 0; c < kVector; ++c) vector.values[c] = sums[w][c];
    vector.store(out.row(token) + v * kVector);
  }
}

/// Each thread handles one slot: it adds the partial sums of the slot's row in order.
__global__ void __launch_bounds__(kRowThreads)
    sumPartsKernel(int64_t slots, Indices rowOfSlot, Numbers parts, int64_t stride, int64_t columns, Numbers out) {
  const int64_t slot = static_cast<int64_t>(blockIdx.x) * kRowThreads + threadIdx.x;
  if (slot >= slots) return;
  const int64_t at = rowOfSlot[slot] * stride;
  float sum = 0.0f;
  for (int64_t first = 0; first < columns; first += kAhead) {
    float values[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) values[i] = first + i < columns ? parts.load(at + first + i) : 0.0f;
#pragma unroll
    for (int i = 0; i < kAhead; ++i) sum += values[i];
  }
  out.store(slot, sum);
}

/// The operands of a Step that sums to tokens. Those that it does not have are null.
struct TokenSum {
  Summands summands;
  const BoundOperand* rows;
  const BoundOperand* before;
  const BoundOperand* gates;
  const BoundOperand* out;
};

template <typename T, int kBatch, int kWide>
void launchSum(const TokenSum& sum, cudaStream_t stream) {
  const RowParts parts(sum.summands.tokens, sum.out->columns(), kWide);
  const Numbers gates = sum.gates == nullptr ? Numbers{} : Numbers{sum.gates->data, sum.gates->buffer->dtype};
  const bool byRow = sum.gates != nullptr && sum.gates->buffer->layout == Layout::rows;
  sumKernel<T, kBatch, kWide><<<parts.blocks, kRowThreads, 0, stream>>>(
      parts, sum.summands, rowsOf<const T>(*sum.rows), gates, byRow,
      sum.before == nullptr ? Rows<const T>{} : rowsOf<const T>(*sum.before), rowsOf<T>(*sum.out));
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

/// Sums with a kernel for the number of summands: with fewer summands a lane has more columns of each in flight.
void sumTokens(const TokenSum& sum, cudaStream_t stream) {
  withElement(sum.out->buffer->dtype, [&](auto element) {
    using T = decltype(element);
    if (sum.summands.topK <= 2) return launchSum<T, 2, 4>(sum, stream);
    if (sum.summands.topK <= 4) return launchSum<T, 4, 2>(sum, stream);
    launchSum<T, 8, 1>(sum, stream);
  });
}

/// Where the Step's summands lie. A scatter-add reads only the token of each row; the run's sort left the inverse, the
/// row of each slot, and with it no addition has to be atomic.
Summands summandsOf(const BoundStep& step, const PlanRun& run) {
  const MoeConfig& c = step.plan.config;
  Summands summands{indicesOf(step, Meaning::rowOfSlot), false, c.tokens, c.topK};
  const Layout layout = step.data(0).buffer->layout;
  if (layout == Layout::slots || layout == Layout::choiceSlots) {
    summands.rowOfSlot = {};
    summands.choiceMajor = layout == Layout::choiceSlots;
  } else if (summands.rowOfSlot.data == nullptr) {
    if (step.step.op != Op::scatterAdd) refuseStep(step, "reads no structure that tells the row of a slot");
    if (!run.context.holdsSort(run.sorted.number)) refuseStep(step, "runs after another plan's sort");
    summands.rowOfSlot = {run.context.sortedIndex().tokenIndexMap, false};
  }
  return summands;
}

/// Launches scatterAdd, reduce, combine and reduceGradients.
void sumToTokens(const BoundStep& step, PlanRun& run) {
  TokenSum sum{summandsOf(step, run), &step.data(0), nullptr, nullptr, &step.out(0)};
  const Op op = step.step.op;
  if (op == Op::combine) sum.gates = step.read(Use::gates);
  if ((op == Op::scatterAdd || op == Op::reduceGradients) && step.dataCount() > 1) sum.before = &step.data(1);
  if (sum.gates != nullptr && sum.gates->buffer->layout != Layout::slots && sum.gates->buffer->layout != Layout::rows)
    refuseStep(step, "has gates that are neither of slots nor of rows");
  sumTokens(sum, run.context.stream());
  if (op != Op::reduceGradients) return;
  const BoundOperand& parts = *step.read(Use::parts);
  const BoundOperand& gates = step.out(1);
  if (gates.buffer->layout != Layout::slots) refuseStep(step, "writes a gate gradient that is not of slots");
  const int64_t slots = step.plan.config.rows();
  sumPartsKernel<<<static_cast<unsigned>((slots + kRowThreads - 1) / kRowThreads), kRowThreads, 0,
                   run.context.stream()>>>(slots, sum.summands.rowOfSlot, {parts.data, parts.buffer->dtype},
                                           parts.rowStride, parts.columns(), {gates.data, gates.buffer->dtype});
  MOEBLAZE_CUDA_CHECK(cudaGetLastError());
}

}  // namespace

namespace ops {
const CudaOp scatterAdd{sumToTokens};
const CudaOp reduce{sumToTokens};
const CudaOp combine{sumToTokens};
const CudaOp reduceGradients{sumToTokens};
}  // namespace ops

}  // namespace moeblaze::cuda
