#pragma once

#include "kernels/bound_step.h"
#include "kernels/cuda/gemm.cuh"

// Operands of the tensor-core kernels in global memory, and how their blocks reach shared memory.
namespace moeblaze::cuda {

/// Rows [.., columns] of a tensor: row r of the Step's groups lies at r, at r less the first one when the tensor holds
/// only a chunk's rows, or where `gather` says.
template <typename T>
struct RowTensor {
  T* data = nullptr;
  int64_t pitch = 0;                ///< elements from one row to the next
  const int32_t* gather = nullptr;  ///< [R]: token of each row
  bool local = false;

  __device__ int64_t rowOf(int32_t row, int32_t first) const {
    return gather != nullptr ? gather[row] : row - (local ? first : 0);
  }
  __device__ T* at(int32_t row, int32_t first) const { return data + (row - (local ? first : 0)) * pitch; }
};

/// One matrix a group: [in, out] as it is stored.
template <typename T>
struct WeightTensor {
  T* data = nullptr;
  int64_t pitch = 0, matrix = 0;  ///< elements from one row, one group to the next
  int32_t firstGroup = 0;

  __device__ T* of(int32_t group) const { return data + (firstGroup + group) * matrix; }
};

/// What the host gives of a bound operand. An operand that lists tokens in a Step of experts is read through the Step's
/// index structure.
template <typename T>
RowTensor<T> rowTensor(const BoundStep& step, const BoundOperand* operand) {
  if (operand == nullptr) return {};
  RowTensor<T> tensor{reinterpret_cast<T*>(operand->data), operand->rowStride};
  if (step.step.gemm.experts == 0) return tensor;
  if (operand->buffer->layout == Layout::tokens) {
    tensor.gather = reinterpret_cast<const int32_t*>(indexOf(step.reads, Meaning::tokenOfRow)->data);
  } else {
    tensor.local = operand->rows() != step.plan.config.rows();
  }
  return tensor;
}

template <typename T>
WeightTensor<T> weightTensor(const BoundStep& step, const BoundOperand& operand) {
  const auto extents = operand.buffer->shape.extents();
  return {reinterpret_cast<T*>(operand.data), extents.back(), extents[extents.size() - 2] * extents.back(),
          step.step.gemm.firstExpert};
}

inline Groups groupsOf(const BoundStep& step) {
  const GemmShape& gemm = step.step.gemm;
  if (gemm.experts == 0) return {.rows = static_cast<int32_t>(step.plan.config.tokens)};
  return {.offsets = reinterpret_cast<const int32_t*>(indexOf(step.reads, Meaning::offsets)->data),
          .first = gemm.firstExpert,
          .count = gemm.experts};
}

/// Which part of a block this thread copies: the same chunk of every kRowsAtOnce-th row.
struct CopyLane {
  int row = static_cast<int>(threadIdx.x) / kChunks, chunk = static_cast<int>(threadIdx.x) % kChunks;
  /// Its place in shared memory; rows further down lie kRowsAtOnce·kRowBytes apart.
  __device__ uint32_t target() const { return swizzled(row, chunk); }
  __device__ int column() const { return chunk * kVector; }
};
inline constexpr int kCopyPitch = kRowsAtOnce * kRowBytes;

/// What the host gives a product whose rows are grouped: Σ over parts of rows [n_e, k] times the group's matrix.
template <typename T>
struct RowProduct {
  Groups groups;
  RowTensor<const T> a[2];
  WeightTensor<const T> b[2];
  int32_t parts = 1;     ///< of the reduction, one operand pair each; a paired product has one A and both B
  int32_t k = 0, n = 0;  ///< of one part; columns of one matrix
  int32_t nTiles = 0;
};

/// Copies A's rows, fixed for a tile, and B's block.
template <typename T, bool kBByK, bool kPaired>
class RowLoader {
 public:
  __device__ RowLoader(const RowProduct<T>& product, uint8_t*) : p_(product), first_(product.groups.begin(0)) {}

  static __device__ int blocksOf(const RowProduct<T>& product, const Tile&) {
    return product.parts * ceilDivide(product.k, kTileK);
  }

  __device__ void begin(const Tile& tile) {
    const CopyLane lane;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int32_t row = tile.m * kTileM + lane.row + i * kRowsAtOnce;
      rows_[i] = row < tile.rows ? static_cast<int32_t>(p_.a[0].rowOf(tile.begin + row, first_)) : -1;
    }
    group_ = tile.group;
    n_ = tile.n;
  }

  template <int kPiece>
  __device__ void load(uint32_t stage, int, int block) const {
    const int perPart = ceilDivide(p_.k, kTileK);
    const int part = p_.parts == 2 && block >= perPart ? 1 : 0;
    const int k = (block - part * perPart) * kTileK;
    if constexpr (kPiece == 0) {
      loadA(stage, part, k);
    } else if constexpr (kBByK) {
      loadBByK(stage + kTileABytes, part, k, kPiece - 1);
    } else {
      loadB(stage + kTileABytes, part, k, kPiece - 1);
    }
  }

 private:
  static constexpr int kRows = kTileM / kRowsAtOnce;

  __device__ void loadA(uint32_t target, int part, int k) const {
    const CopyLane lane;
    const RowTensor<const T>& a = p_.a[part];
    const int column = k + lane.column();
    const bool inside = column < p_.k;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const bool valid = inside && rows_[i] >= 0;
      copyAsync(target + lane.target() + i * kCopyPitch, valid ? a.data + rows_[i] * a.pitch + column : a.data, valid);
    }
  }

  /// Columns of the result are rows of the matrix.
  __device__ void loadBByK(uint32_t target, int part, int k, int half) const {
    const CopyLane lane;
    const WeightTensor<const T>& b = p_.b[part];
    const int column = k + lane.column(), first = half * kTileN / 2 + lane.row;
    const bool inside = column < p_.k;
    const T* source = b.of(group_) + (static_cast<int64_t>(n_) * kTileN + first) * b.pitch + column;
#pragma unroll
    for (int i = 0; i < kTileN / 2 / kRowsAtOnce; ++i) {
      const bool valid = inside && n_ * kTileN + first + i * kRowsAtOnce < p_.n;
      copyAsync(target + half * (kTileN / 2) * kRowBytes + lane.target() + i * kCopyPitch,
                valid ? source + static_cast<int64_t>(i) * kRowsAtOnce * b.pitch : b.data, valid);
    }
  }

  /// Columns of the result are columns of the matrix: panels of 64, the second half from the second matrix when paired.
  __device__ void loadB(uint32_t target, int part, int k, int half) const {
    const CopyLane lane;
    const WeightTensor<const T>& b = p_.b[kPaired ? half : part];
    const int first = (kPaired ? n_ * (kTileN / 2) : n_ * kTileN + half * (kTileN / 2)) + lane.column();
    const T* source = b.of(group_) + static_cast<int64_t>(k + lane.row) * b.pitch + first;
#pragma unroll
    for (int panel = 0; panel < 2; ++panel)
#pragma unroll
      for (int i = 0; i < kTileK / kRowsAtOnce; ++i) {
        const bool valid = k + lane.row + i * kRowsAtOnce < p_.k && first + panel * kPanelColumns < p_.n;
        copyAsync(target + (2 * half + panel) * kPanelBytes + lane.target() + i * kCopyPitch,
                  valid ? source + static_cast<int64_t>(i) * kRowsAtOnce * b.pitch + panel * kPanelColumns : b.data,
                  valid);
      }
  }

  const RowProduct<T>& p_;
  int32_t first_;
  int32_t rows_[kRows];
  int32_t group_ = 0, n_ = 0;
};

/// Products whose rows are grouped; subclasses bring the epilogue.
template <typename T, bool kByK, bool kInPairs>
struct RowWork {
  using Element = T;
  using Tiles = RowTiles;
  using Loader = RowLoader<T, kByK, kInPairs>;
  static constexpr bool kAByK = true, kBByK = kByK, kPaired = kInPairs, kScaled = false;

  static __device__ RowTiles makeTiles(const RowProduct<T>& product, int32_t* table) {
    return RowTiles(product.groups, product.nTiles, table);
  }
  static __host__ __device__ constexpr int extraBytes(int) { return 0; }
  __device__ void loadScale(Fragments&, int, int) const {}
  __device__ void prepare(const Tile&) const {}
};

}  // namespace moeblaze::cuda
