#pragma once

#include "kernels/cuda/gemm/gemm.cuh"
#include "kernels/layer/bound_step.h"

// The operands of the tensor-core kernels in global memory, and how their blocks reach shared memory.
namespace moeblaze::cuda {

/// A tensor of rows. Row r of the Step's groups lies at row r of the tensor; at r less the groups' first row when the
/// tensor holds only a chunk's rows; or at the row that `gather` names.
template <typename T>
struct RowTensor {
  T* data = nullptr;
  int64_t pitch = 0;                ///< elements from one row to the next
  const int32_t* gather = nullptr;  ///< [R]: the token of each row
  bool local = false;

  __device__ int64_t rowOf(int32_t row, int32_t first) const {
    return gather != nullptr ? gather[row] : row - (local ? first : 0);
  }
  __device__ T* at(int32_t row, int32_t first) const { return data + (row - (local ? first : 0)) * pitch; }
};

/// One matrix [in, out] for each group, as it is stored.
template <typename T>
struct WeightTensor {
  T* data = nullptr;
  int64_t pitch = 0, matrix = 0;  ///< elements from one row to the next, and from one group to the next
  int32_t firstGroup = 0;

  __device__ T* of(int32_t group) const { return data + (firstGroup + group) * matrix; }
};

/// The device's view of a bound operand. In a Step of experts, an operand of tokens is read through the Step's index
/// structure.
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

/// The part of a block that this thread copies: the same 16 bytes of every kRowsAtOnce-th row.
struct CopyLane {
  int row = static_cast<int>(threadIdx.x) / kChunks, chunk = static_cast<int>(threadIdx.x) % kChunks;
  /// Its place in shared memory. The thread's further rows lie kCopyPitch apart.
  __device__ uint32_t target() const { return swizzled(row, chunk); }
  __device__ int column() const { return chunk * kVector; }
};

/// Where a copy goes to in shared memory and comes from in global memory.
struct Copy {
  uint32_t target;
  const void* source;
};

/// Copies of(0) to of(kCount - 1), each only where valid(i). With `whole`, for tiles that do not reach the operand's
/// edge, all copies are valid and the tests are left out.
template <int kCount, typename Of, typename Valid>
__device__ void copyEach(bool whole, Of&& of, Valid&& valid) {
  if (whole) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const Copy copy = of(i);
      copyAsync(copy.target, copy.source);
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const Copy copy = of(i);
      copyAsync(copy.target, copy.source, valid(i));
    }
  }
}

/// What the host gives a product whose rows are grouped: the sum over `parts` of rows [n_e, k] times the group's
/// matrix.
template <typename T>
struct RowProduct {
  Groups groups;
  RowTensor<const T> a[2];  ///< both have the same pitch
  WeightTensor<const T> b[2];
  int32_t parts = 1;     ///< parts of the reduction, each with its own A and B; a paired product has one A and both B
  int32_t k = 0, n = 0;  ///< depth of one part, and columns of one matrix
};

/// Copies blocks of A, whose rows stay the same within a tile, and of B. Everything that stays the same within a tile
/// is computed when the tile begins, so that a block costs little more than its copies.
template <typename T, bool kBByK, bool kPaired>
class RowLoader {
 public:
  __device__ RowLoader(const RowProduct<T>& product, uint8_t*) : p_(product), first_(product.groups.begin(0)) {}

  static __device__ int blocksOf(const RowProduct<T>& product, const Tile&) {
    return product.parts * ceilDivide(product.k, kTileK);
  }

  __device__ void begin(const Tile& tile) {
    const CopyLane lane;
    aMask_ = bMask_ = 0;
#pragma unroll
    for (int i = 0; i < kARows; ++i) {
      const int32_t row = tile.m * kTileM + lane.row + i * kRowsAtOnce;
      rows_[i] = row < tile.rows
                     ? static_cast<uint32_t>(p_.a[0].rowOf(tile.begin + row, first_) * p_.a[0].pitch / kVector)
                     : 0;
      aMask_ |= static_cast<uint32_t>(row < tile.rows) << i;
    }
    group_ = tile.group;
    n_ = tile.n * kColumns;
    if constexpr (kBByK) {
#pragma unroll
      for (int i = 0; i < kBRows; ++i) bMask_ |= static_cast<uint32_t>(n_ + lane.row + i * kRowsAtOnce < p_.n) << i;
    } else {
#pragma unroll
      for (int i = 0; i < kPanels; ++i)
        bMask_ |= static_cast<uint32_t>(n_ + i * kPanelColumns + lane.column() < p_.n) << i;
    }
    startPart(0);
  }

  __device__ void next() {
    left_ -= kTileK;
    if (left_ <= 0) return startPart(1);
    a_ += kTileK;
    b_ += kBByK ? kTileK : kTileK * p_.b[0].pitch;
    if constexpr (kPaired) second_ += kTileK * p_.b[0].pitch;
  }

  template <int kPiece>
  __device__ void load(uint32_t stage, int) const {
    if constexpr (kPiece == 0) {
      loadA(stage);
    } else if constexpr (kBByK) {
      loadBByK<kPiece - 1>(stage + kTileABytes);
    } else {
      loadB<kPiece - 1>(stage + kTileABytes);
    }
  }

 private:
  static constexpr int kARows = kTileM / kRowsAtOnce, kBRows = kTileN / kRowsAtOnce;
  static constexpr int kColumns = kPaired ? kTileN / 2 : kTileN;  ///< columns of one matrix in a tile
  static constexpr int kPanels = kColumns / kPanelColumns;

  __device__ void startPart(int part) {
    const CopyLane lane;
    left_ = p_.k;
    a_ = p_.a[part].data + lane.column();
    const T* matrix = p_.b[part].of(group_);
    if constexpr (kBByK) {
      b_ = matrix + (n_ + lane.row) * p_.b[0].pitch + lane.column();
    } else {
      b_ = matrix + lane.row * p_.b[0].pitch + n_ + lane.column();
    }
    if constexpr (kPaired) second_ = p_.b[1].of(group_) + lane.row * p_.b[0].pitch + n_ + lane.column();
  }

  __device__ void loadA(uint32_t target) const {
    const CopyLane lane;
    copyEach<kARows>(
        aMask_ == (1u << kARows) - 1 && left_ >= kTileK,
        [&](int i) {
          return Copy{target + lane.target() + i * kCopyPitch, reinterpret_cast<const uint4*>(a_) + rows_[i]};
        },
        [&](int i) { return lane.column() < left_ && (aMask_ >> i & 1) != 0; });
  }

  /// Copies half of a block of B where columns of the result are rows of the matrix.
  template <int kHalf>
  __device__ void loadBByK(uint32_t target) const {
    constexpr int kFirst = kHalf * kBRows / 2;
    const CopyLane lane;
    copyEach<kBRows / 2>(
        bMask_ == (1u << kBRows) - 1 && left_ >= kTileK,
        [&](int i) {
          return Copy{target + lane.target() + (kFirst + i) * kCopyPitch,
                      b_ + (kFirst + i) * (kRowsAtOnce * p_.b[0].pitch)};
        },
        [&](int i) { return lane.column() < left_ && (bMask_ >> (kFirst + i) & 1) != 0; });
  }

  /// Copies half of a block of B where columns of the result are columns of the matrix, as panels of 64 columns. The
  /// second half comes from the second matrix when the product is paired.
  template <int kHalf>
  __device__ void loadB(uint32_t target) const {
    constexpr int kHalfPanels = kTileN / kPanelColumns / 2, kFirst = kPaired ? 0 : kHalf * kHalfPanels;
    const CopyLane lane;
    const T* const matrix = kPaired && kHalf == 1 ? second_ : b_;
    copyEach<kTileK / kRowsAtOnce * kHalfPanels>(
        bMask_ == (1u << kPanels) - 1 && left_ >= kTileK,
        [&](int i) {
          const int row = i / kHalfPanels, panel = i % kHalfPanels;
          return Copy{target + (kHalf * kHalfPanels + panel) * kPanelBytes + lane.target() + row * kCopyPitch,
                      matrix + row * (kRowsAtOnce * p_.b[0].pitch) + (kFirst + panel) * kPanelColumns};
        },
        [&](int i) {
          return lane.row + i / kHalfPanels * kRowsAtOnce < left_ && (bMask_ >> (kFirst + i % kHalfPanels) & 1) != 0;
        });
  }

  const RowProduct<T>& p_;
  int32_t first_;
  uint32_t rows_[kARows];  ///< offset of each row, in units of 16 bytes
  uint32_t aMask_ = 0, bMask_ = 0;
  int32_t group_ = 0, n_ = 0;
  int32_t left_ = 0;  ///< what is left of k in this part
  const T *a_ = nullptr, *b_ = nullptr, *second_ = nullptr;
};

/// Fills what every product of grouped rows has: its groups, its first operand of rows, a matrix for each weight, k.
template <typename T>
void bindRowProduct(const BoundStep& step, RowProduct<T>& product) {
  const auto weights = weightsOf(step.reads);
  product.groups = groupsOf(step);
  product.a[0] = rowTensor<const T>(step, &step.data(0));
  for (size_t i = 0; i < weights.size(); ++i) product.b[i] = weightTensor<const T>(step, *weights[i]);
  product.k = static_cast<int32_t>(step.data(0).columns());
}

/// The part of a Work (see GemmWork) that all products of grouped rows share. `ItsParams` derives from RowProduct; a
/// subclass brings the epilogue.
template <typename T, class ItsParams, class ItsEngine, bool kByK, bool kInPairs>
struct RowWork {
  using Element = T;
  using Params = ItsParams;
  using Engine = ItsEngine;
  using Place = typename Engine::Place;
  using Tiles = RowTiles;
  using Loader = RowLoader<T, kByK, kInPairs>;
  static constexpr int kColumns = kInPairs ? kTileN / 2 : kTileN;  ///< columns of one matrix in a tile
  static constexpr bool kAByK = true, kBByK = kByK, kPaired = kInPairs, kScaled = false;

  static __device__ RowTiles makeTiles(const RowProduct<T>& product, int32_t* table) {
    return RowTiles(product.groups, ceilDivide(product.n, kColumns), table);
  }
  static __host__ __device__ constexpr int extraBytes(int) { return 0; }

  __device__ RowWork(const Params& params, uint8_t*) : p(params), first(params.groups.begin(0)) {}
  __device__ void prepare(const Tile&) const {}

  const Params& p;
  const int32_t first;  ///< the first row of the groups covered
};

}  // namespace moeblaze::cuda
