#pragma once

#include <algorithm>
#include <cassert>
#include <limits>

#include "kernels/cuda/base/element.cuh"
#include "kernels/cuda/base/refuse.h"
#include "kernels/layer/bound_step.h"

namespace moeblaze::cuda {

inline constexpr int kLanes = 32;
/// Threads in a block of the kernels that move rows.
inline constexpr int kRowThreads = 256;
inline constexpr int kRowWarps = kRowThreads / kLanes;

/// Converts sixteen bytes to numbers and back. Kernels keep many vectors in flight as bits, which take half the
/// registers that the numbers would.
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

/// A matrix whose rows lie `stride` elements apart.
template <typename T>
struct Rows {
  T* data = nullptr;
  int64_t stride = 0;
  __device__ T* row(int64_t at) const { return data + at * stride; }
};

/// The sum over the warp in a fixed order, which is the same in every lane.
__device__ inline float warpSum(float value) {
#pragma unroll
  for (int step = kLanes / 2; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  return value;
}

/// The number of rows of the Step's experts, which is the smallest number that any operand of rows has; -1 when no
/// operand has rows.
inline int64_t stepRows(const BoundStep& step) {
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (const auto* operands : {&step.reads, &step.writes})
    for (const BoundOperand& operand : *operands)
      if (operand.buffer->layout == Layout::rows) fewest = std::min(fewest, operand.rows());
  return fewest == std::numeric_limits<int64_t>::max() ? -1 : fewest;
}

/// True when the Step reads or writes an operand of this layout.
inline bool hasLayout(const BoundStep& step, Layout layout) {
  const auto has = [layout](const BoundOperand& operand) { return operand.buffer->layout == layout; };
  return std::any_of(step.reads.begin(), step.reads.end(), has) ||
         std::any_of(step.writes.begin(), step.writes.end(), has);
}

/// The index structure of `meaning` that the Step reads; its data is null when the Step reads none.
inline Indices indicesOf(const BoundStep& step, Meaning meaning) {
  const BoundOperand* found = indexOf(step.reads, meaning);
  if (found == nullptr) return {};
  return {found->data, found->buffer->dtype == DType::int64};
}

/// Where the first row of a chunk of experts lies among all rows, as an address on the device; null when the Step has
/// all rows.
inline const int32_t* firstRowOf(const BoundStep& step) {
  if (step.step.gemm.firstExpert == 0) return nullptr;
  const BoundOperand* offsets = indexOf(step.reads, Meaning::offsets);
  if (offsets == nullptr) refuseStep(step, "covers some experts but reads no offsets");
  return reinterpret_cast<const int32_t*>(offsets->data) + step.step.gemm.firstExpert;
}

/// A row of the Step, counted from the Step's first row, with its token and slot; -1 where the Step's structures do not
/// tell.
struct RowPlace {
  int64_t row, token, slot;
};

/// Tells the token and slot of each row of a Step, from the index structures that the Step reads. A kernel works
/// through items: these are rows, or slots where only rowOfSlot connects the two. Without any structure every row is
/// its own slot.
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
  /// First row of a chunk among the structures' entries; null when the Step has all rows.
  const int32_t* firstRow = nullptr;
  uint32_t topK;
  bool bySlot = false;
  int64_t count = 0;
};

/// Tells at which row of an operand's matrix the data of a place lies.
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
  const int32_t* firstRow = nullptr;  ///< first row of a chunk, where the operand holds all rows; else null
};

/// A matrix with one row for each row, slot or token of the Step.
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

/// A column with one number for each row, slot or token of the Step. Without an operand it reads as ones.
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

/// The item and the first vector of a lane's share. The lane's other vectors lie 32 apart from one another.
struct RowPart {
  int64_t item, vector;
};

/// Cuts the rows into parts, one part for each warp, in which every lane has `wide` vectors.
struct RowParts {
  RowParts(int64_t count, int64_t columns, int wide) : items(count), vectors(columns / kVector) {
    const int64_t width = static_cast<int64_t>(kLanes) * wide, parts = (vectors + width - 1) / width;
    perItem = static_cast<uint32_t>(parts);
    // Warps are counted in 32 bits, which divide faster. 2³² warps would move 2 TiB or more.
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
