#pragma once

#include <algorithm>
#include <cassert>
#include <limits>

#include "kernels/cuda/base/element.cuh"
#include "kernels/cuda/base/refuse.h"
#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

inline constexpr int kLanes = 32;
/// Threads of a block of the kernels that move rows.
inline constexpr int kRowThreads = 256;
inline constexpr int kRowWarps = kRowThreads / kLanes;

/// Sixteen bytes as numbers; kept as bits while many are in flight, for they take half the registers.
template <typename T>
__device__ Vector<T> fromBits(const uint4& bits) {
  return Vector<T>::load(reinterpret_cast<const T*>(&bits));
}
template <typename T>
__device__ uint4 toBits(const Vector<T>& vector) {
  uint4 bits;
  vector.store(reinterpret_cast<T*>(&bits));
  return bits;
}

/// Sum over the warp in a fixed order, the same in every lane.
__device__ inline float warpSum(float value) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// Rows of the Step's experts: those of the operand of rows that has fewest; -1 without one.
inline int64_t stepRows(const BoundStep& step) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const auto* operands : {&step.reads, &step.writes})
    for (const BoundOperand& operand : *operands)
      if (operand.buffer->layout == Layout::rows) fewest = std::min(fewest, operand.rows());
  return fewest == std::numeric_limits<int64_t>::max() ? -1 : fewest;
}

/// True when an operand of the Step, read or written, has the layout.
inline bool hasLayout(const BoundStep& step, Layout layout) {
  const auto has = [layout](const BoundOperand& operand) { return operand.buffer->layout == layout; };
  return std::any_of(step.reads.begin(), step.reads.end(), has) ||
         std::any_of(step.writes.begin(), step.writes.end(), has);
}

/// The index structure of `meaning` that the Step reads; without data when it reads none.
inline Indices indicesOf(const BoundStep& step, Meaning meaning) {
  const BoundOperand* found = indexOf(step.reads, meaning);
  if (found == nullptr) return {};
  return {found->data, found->buffer->dtype == DType::int64};
}

/// Where the first row of a chunk of experts lies among all rows, on the device; null when the Step has all rows.
inline const int32_t* firstRowOf(const BoundStep& step) {
  if (step.step.gemm.firstExpert == 0) return nullptr;
  const BoundOperand* offsets = indexOf(step.reads, Meaning::offsets);
  if (offsets == nullptr) refuseStep(step, "covers some experts but reads no offsets");
  return reinterpret_cast<const int32_t*>(offsets->data) + step.step.gemm.firstExpert;
}

/// A row of the Step, counted from its first, and the pair it is; -1 where the Step's structures do not say.
struct RowPlace {
  int64_t row, token, slot;
};

/// Tells which pair each row of a Step is, from the structures that the Step reads. Items are rows, or slots where only
/// rowOfSlot says which slot a row is; without a structure every row is its own slot.
struct RowAddress {
  explicit RowAddress(const BoundStep& step)
      : slotOfRow(indicesOf(step, Meaning::slotOfRow)),
        tokenOfRow(indicesOf(step, Meaning::tokenOfRow)),
        choiceOfRow(indicesOf(step, Meaning::choiceOfRow)),
        rowOfSlot(indicesOf(step, Meaning::rowOfSlot)),
        topK(static_cast<uint32_t>(step.plan.config.topK)) {
    const int64_t rows = stepRows(step), slots = step.plan.config.rows();
    const bool needsSlot = hasLayout(step, Layout::slots);
    const bool knowsSlot =
        slotOfRow.data != nullptr || (tokenOfRow.data != nullptr && (choiceOfRow.data != nullptr || topK == 1));
    bySlot = rowOfSlot.data != nullptr && !knowsSlot && (needsSlot || tokenOfRow.data == nullptr);
    if (needsSlot && !knowsSlot && !bySlot && tokenOfRow.data != nullptr)
      refuseStep(step, "reads no structure that tells the slot of a row");
    if (bySlot && rows >= 0 && rows != slots) refuseStep(step, "some experts' rows cannot be found by slot");
    if (!needsSlot && rows < 0) topK = 1;  // dense: items are tokens
    count = bySlot ? slots : rows >= 0 ? rows : needsSlot ? slots : step.plan.config.tokens;
    if (rows >= 0 && rows != slots && (slotOfRow.data != nullptr || tokenOfRow.data != nullptr))
      firstRow = firstRowOf(step);
  }

  __device__ RowPlace operator[](int64_t item) const {
    if (bySlot) return {rowOfSlot[item], tokenOf(item), item};
    const int64_t entry = firstRow == nullptr ? item : item + *firstRow;
    if (slotOfRow.data != nullptr) {
      const int64_t slot = slotOfRow[entry];
      return {item, tokenOf(slot), slot};
    }
    if (tokenOfRow.data == nullptr) return {item, tokenOf(item), item};
    const int64_t token = tokenOfRow[entry];
    if (choiceOfRow.data != nullptr) return {item, token, token * topK + choiceOfRow[entry]};
    return {item, token, topK == 1 ? token : -1};
  }
  __device__ int64_t tokenOf(int64_t slot) const { return static_cast<uint32_t>(slot) / topK; }

  Indices slotOfRow, tokenOfRow, choiceOfRow, rowOfSlot;
  const int32_t* firstRow = nullptr;  ///< of a chunk, among the structures' entries
  uint32_t topK;
  bool bySlot = false;
  int64_t count = 0;
};

/// Where an operand holds what belongs to a row.
struct RowIndex {
  RowIndex() = default;
  RowIndex(const BoundStep& step, const BoundOperand& operand) : layout(operand.buffer->layout) {
    if (layout != Layout::rows && layout != Layout::slots && layout != Layout::tokens)
      refuseStep(step, "has an operand that no row leads to");
    if (layout == Layout::rows && operand.rows() != stepRows(step)) firstRow = firstRowOf(step);
  }
  __device__ int64_t operator()(const RowPlace& place) const {
    if (layout == Layout::slots) return place.slot;
    if (layout == Layout::tokens) return place.token;
    return firstRow == nullptr ? place.row : place.row + *firstRow;
  }

  Layout layout = Layout::rows;
  const int32_t* firstRow = nullptr;  ///< of a chunk, where the operand holds all rows
};

/// A matrix with a row for each row, slot or token of the Step.
template <typename T>
struct RowOperand {
  RowOperand() = default;
  RowOperand(const BoundStep& step, const BoundOperand& operand)
      : data(reinterpret_cast<T*>(operand.data)), stride(operand.rowStride), index(step, operand) {
    assert(static_cast<int64_t>(sizeof(T)) == sizeOf(operand.buffer->dtype));
  }
  __device__ T* at(const RowPlace& place) const { return data + index(place) * stride; }

  T* data = nullptr;
  int64_t stride = 0;
  RowIndex index;
};

/// One number for each row, slot or token; ones when there is none.
struct RowNumbers {
  RowNumbers() = default;
  RowNumbers(const BoundStep& step, const BoundOperand* operand) {
    if (operand == nullptr) return;
    numbers = {operand->data, operand->buffer->dtype};
    stride = operand->rowStride;
    index = RowIndex(step, *operand);
  }
  __host__ __device__ bool given() const { return numbers.data != nullptr; }
  __device__ float load(const RowPlace& place) const {
    return numbers.data == nullptr ? 1.0f : numbers.load(index(place) * stride);
  }
  __device__ void store(const RowPlace& place, float value) const { numbers.store(index(place) * stride, value); }

  Numbers numbers;
  int64_t stride = 1;
  RowIndex index;
};

/// A lane's first vector within an item's row; its others lie 32 apart.
struct RowPart {
  int64_t item, vector;
};

/// Rows cut into parts of `wide` vectors a lane, a part for each warp.
struct RowParts {
  RowParts(int64_t count, int64_t columns, int wide) : items(count), vectors(columns / kVector) {
    const int64_t width = static_cast<int64_t>(kLanes) * wide, parts = (vectors + width - 1) / width;
    perItem = static_cast<uint32_t>(parts);
    // Warps are counted in 32 bits, for their quotient is faster: 2³² of them would move 2 TiB or more.
    assert(columns % kVector == 0 && items * parts < std::numeric_limits<uint32_t>::max() - kRowWarps);
    blocks = static_cast<unsigned>((items * parts + kRowWarps - 1) / kRowWarps);
  }
  __device__ RowPart mine(int wide) const {
    const uint32_t warp = blockIdx.x * kRowWarps + threadIdx.x / kLanes, item = warp / perItem;
    return {item, static_cast<int64_t>(warp - item * perItem) * kLanes * wide + threadIdx.x % kLanes};
  }

  int64_t items, vectors;
  uint32_t perItem;
  unsigned blocks;
};

}  // namespace moeblaze::cuda
