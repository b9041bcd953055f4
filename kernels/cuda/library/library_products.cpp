// Products by cuBLAS, one call for each expert, as frameworks run them where they have no grouped kernel of their own.
#include <algorithm>
#include <initializer_list>

#include "kernels/cuda/base/check.h"
#include "kernels/cuda/base/refuse.h"
#include "kernels/cuda/library/library_gemm.h"
#include "kernels/cuda/run/products.h"

namespace moeblaze::cuda {
namespace {

/// The dtype of the operands. Refuses those that no library call multiplies: mixed dtypes, or others than bf16 and
/// fp16.
DType commonDType(const BoundStep& step, std::initializer_list<const BoundOperand*> operands) {
  const DType dtype = (*operands.begin())->buffer->dtype;
  for (const BoundOperand* operand : operands)
    if (operand->buffer->dtype != dtype) refuseStep(step, "has operands of unlike dtypes");
  if (dtype != DType::bf16 && dtype != DType::fp16) refuseStep(step, "has operands that are neither bf16 nor fp16");
  return dtype;
}

/// The rows of one expert, counted from the Step's first row.
struct Expert {
  int64_t id = 0, begin = 0, rows = 0;
};

/// The Step's experts with the bounds that the run's sort read back to the host. A dense Step has one expert with all
/// rows.
struct Experts {
  std::vector<Expert> list;
  int64_t firstRow = 0, rows = 0;

  Experts(const BoundStep& step, const SortResult& sorted, int64_t denseRows) {
    const GemmShape& gemm = step.step.gemm;
    if (gemm.ragged == Ragged::none || gemm.experts == 0) {
      list = {{0, 0, denseRows}};
      rows = denseRows;
      return;
    }
    const std::vector<int64_t>& starts = sorted.rowStarts;
    const int64_t end = gemm.firstExpert + gemm.experts;
    if (std::ssize(starts) <= end) refuseStep(step, "runs before the experts' bounds were read back");
    firstRow = starts[gemm.firstExpert];
    rows = starts[end] - firstRow;
    for (int64_t e = gemm.firstExpert; e < end; ++e)
      list.push_back({e, starts[e] - firstRow, starts[e + 1] - starts[e]});
  }

  /// The first of the expert's rows in an operand of rows, which holds all rows or only those of the Step's experts.
  std::byte* rowsOf(const BoundOperand& operand, const Expert& expert) const {
    const int64_t row = expert.begin + (operand.rows() == rows ? 0 : firstRow);
    return operand.data + row * operand.rowStride * sizeOf(operand.buffer->dtype);
  }
};

/// The first element of the expert's matrix, or of the only matrix.
std::byte* matrixOf(const BoundOperand& weight, const Expert& expert) {
  const auto extents = weight.buffer->shape.extents();
  const int64_t in = extents[extents.size() - 2];
  return weight.data + expert.id * in * weight.rowStride * sizeOf(weight.buffer->dtype);
}

/// Refuses operands whose rows a grouped product would have to find through an index structure.
void requireRows(const BoundStep& step, const BoundOperand& operand) {
  if (step.step.gemm.ragged != Ragged::none && operand.buffer->layout != Layout::rows)
    refuseStep(step, "reads or writes rows through an index, which cuBLAS does not");
}

}  // namespace

void libraryProduct(const BoundStep& step, PlanRun& run) {
  const auto weights = weightsOf(step.reads);
  const BoundOperand& out = step.out(0);
  if (weights.empty() || step.outCount() != 1) refuseStep(step, "is no product with one result");
  if (step.read(Use::gates) != nullptr) refuseStep(step, "scales its result, which cuBLAS does not");
  const bool accumulates = std::any_of(step.reads.begin(), step.reads.end(),
                                       [&](const BoundOperand& operand) { return operand.buffer == out.buffer; });
  const bool transposed = step.step.gemm.transposed;
  const Experts experts(step, run.sorted, out.rows());
  requireRows(step, out);
  for (size_t i = 0; i < weights.size(); ++i) {
    const BoundOperand &rows = step.data(i), &weight = *weights[i];
    requireRows(step, rows);
    const DType dtype = commonDType(step, {&out, &rows, &weight});
    for (const Expert& expert : experts.list) {
      if (expert.rows == 0) continue;
      multiplyRowMajor(run.context, dtype,
                       {.m = expert.rows,
                        .n = out.columns(),
                        .k = rows.columns(),
                        .a = {experts.rowsOf(rows, expert), rows.rowStride},
                        .b = {matrixOf(weight, expert), weight.rowStride, transposed},
                        .c = {experts.rowsOf(out, expert), out.rowStride},
                        .adds = i > 0 || accumulates});
    }
  }
}

void libraryWeightGradient(const BoundStep& step, PlanRun& run) {
  if (step.read(Use::gates) != nullptr) refuseStep(step, "scales its rows, which cuBLAS does not");
  const BoundOperand& left = step.data(0);
  const Experts experts(step, run.sorted, left.rows());
  requireRows(step, left);
  for (size_t i = 0; i < step.outCount(); ++i) {
    const BoundOperand &right = step.data(1 + i), &out = step.out(i);
    requireRows(step, right);
    const DType dtype = commonDType(step, {&out, &left, &right});
    const auto bytes = static_cast<size_t>(left.columns() * out.rowStride * sizeOf(out.buffer->dtype));
    for (const Expert& expert : experts.list) {
      if (expert.rows == 0) {
        MOEBLAZE_CUDA_CHECK(cudaMemsetAsync(matrixOf(out, expert), 0, bytes, run.context.stream()));
        continue;
      }
      multiplyRowMajor(run.context, dtype,
                       {.m = left.columns(),
                        .n = right.columns(),
                        .k = expert.rows,
                        .a = {experts.rowsOf(left, expert), left.rowStride, true},
                        .b = {experts.rowsOf(right, expert), right.rowStride},
                        .c = {matrixOf(out, expert), out.rowStride}});
    }
  }
}

}  // namespace moeblaze::cuda
