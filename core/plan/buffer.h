#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "core/base/dtype.h"

namespace moeblaze {

/// What a buffer is for. Planners never declare `saved`: a transient that forward leaves for backward becomes `saved`
/// when its Plan is finished. `unknown` is the role of memory in traces of other programs, which do not say.
enum class Role : uint8_t { input, output, weight, gradient, saved, transient, index, workspace, unknown };
std::string_view name(Role role);

/// How a buffer's elements are ordered. A row and a slot are both one (token, expert) pair: rows are grouped by expert,
/// slots follow the order of the tokens. L is the number of tokens, k experts per token, E the number of experts.
enum class Layout : uint8_t {
  flat,          ///< scratch memory, or an index structure that its Meaning describes
  tokens,        ///< [L, ...]
  rows,          ///< [rows, ...], or [rows] with one value per row
  slots,         ///< [L, k, ...]
  choiceSlots,   ///< [k, L, ...]
  expertTokens,  ///< [E, L]; only the pairs that the routing made hold a value
  weight,        ///< [E, in, out], or [in, out] for shared experts and the router
};

/// What an index structure maps.
enum class Meaning : uint8_t {
  none,
  expertOfSlot,   ///< [L, k]: the experts that the router chose
  tokenOfRow,     ///< [rows]
  slotOfRow,      ///< [rows]: token·k + choice
  choiceOfRow,    ///< [rows]: which of the token's k choices the row is
  expertOfRow,    ///< [rows]
  rowOfSlot,      ///< [L, k]; -1 where the slot was dropped
  tokenOffsets,   ///< [L]: the first slot of each token
  offsets,        ///< [E+1]: the first row of each expert; the last value is the number of rows
  ends,           ///< [E]: one past the last row of each expert
  pairEnds,       ///< [E]: the same, counted before each expert's rows are padded
  counts,         ///< [E]: tokens of each expert
  blockTopology,  ///< which blocks a block-sparse product has; the host executor follows expertOfRow instead
  scratch,        ///< kept alive by the framework, but read by no Step
};

enum class BufferId : int32_t { none = -1 };
constexpr size_t index(BufferId id) { return static_cast<size_t>(id); }

/// Up to four extents of a row-major tensor.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> extents) {
    assert(extents.size() <= extents_.size());
    for (int64_t extent : extents) extents_[rank_++] = extent;
  }
  std::span<const int64_t> extents() const { return {extents_.data(), rank_}; }
  int64_t last() const { return extents_[rank_ - 1]; }
  /// Number of elements.
  int64_t count() const {
    int64_t product = 1;
    for (int64_t extent : extents()) product *= extent;
    return product;
  }

 private:
  std::array<int64_t, 4> extents_{};
  uint8_t rank_ = 0;
};

/// Steps [first, last] during which a buffer's storage exists; both are indices into Plan::steps.
struct Lifetime {
  int32_t first = 0;
  int32_t last = -1;
  bool contains(int32_t step) const { return first <= step && step <= last; }
};

/// A planned tensor. An alias shares the storage of the buffer `aliasOf` and costs no bytes of its own; that storage
/// lives for as long as either of them is in use.
struct Buffer {
  std::string name;  ///< unique within its Plan
  Role role = Role::transient;
  DType dtype = DType::bf16;
  Layout layout = Layout::flat;
  Meaning meaning = Meaning::none;
  bool external = false;      ///< exists before the training step and is not part of its peak: parameters, x, dO
  bool intermediate = false;  ///< lies between the first and the last product of an MLP
  bool router = false;        ///< belongs to the router
  Shape shape;
  int64_t bytes = 0;  ///< elements times the dtype's size, for an alias too
  BufferId aliasOf = BufferId::none;
  int64_t aliasColumn = 0;  ///< an alias narrower than its base is a view of the base's columns from this one on
  Lifetime lifetime;        ///< set by deriveLifetimes

  bool ownsStorage() const { return aliasOf == BufferId::none; }
  /// True for what a training step gives back: the output and the gradients that it computes.
  bool isResult() const { return !external && (role == Role::output || role == Role::gradient); }
};

}  // namespace moeblaze
