#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/plan/plan.h"

namespace moeblaze {

/// A buffer's storage as a Step sees it, on the host or on a GPU: a matrix whose rows are the buffer's last extent, or
/// a column where the layout holds one value for each row, slot, or pair of expert and token.
struct BoundOperand {
  const Buffer* buffer = nullptr;
  Use use = Use::data;
  std::byte* data = nullptr;  ///< first element; a view's begins at its column of the base
  int64_t rowStride = 0;      ///< elements from one row to the next

  int64_t rows() const { return buffer->shape.count() / columns(); }
  int64_t columns() const { return columnsOf(*buffer); }
  /// Columns of the matrix: 1 where the layout holds one value for each row, slot or pair, else the last extent.
  static int64_t columnsOf(const Buffer& buffer);
};

/// The operand whose storage begins at `storage`, the first byte of the buffer that owns it.
BoundOperand bindOperand(const Plan& plan, const Operand& operand, std::byte* storage);

/// The operands of one use, in the Plan's order. For Use::data these are the operands that only their order tells
/// apart: weights, scratch and index structures are left out, because they are recognised by what they are. `Bound` is
/// BoundOperand or derives from it, here and below.
template <typename Bound>
std::vector<const Bound*> operandsOf(const std::vector<Bound>& operands, Use use) {
  std::vector<const Bound*> found;
  for (const Bound& operand : operands) {
    const Buffer& buffer = *operand.buffer;
    const bool special =
        buffer.role == Role::weight || buffer.role == Role::workspace || buffer.meaning != Meaning::none;
    if (operand.use == use && (use != Use::data || !special)) found.push_back(&operand);
  }
  return found;
}

/// The parameters among `operands` that are read as data, in the Plan's order.
template <typename Bound>
std::vector<const Bound*> weightsOf(const std::vector<Bound>& operands) {
  std::vector<const Bound*> found;
  for (const Bound& operand : operands)
    if (operand.use == Use::data && operand.buffer->role == Role::weight) found.push_back(&operand);
  return found;
}

/// The index structure of `meaning`; null when there is none.
template <typename Bound>
const Bound* indexOf(const std::vector<Bound>& operands, Meaning meaning) {
  for (const Bound& operand : operands)
    if (operand.buffer->meaning == meaning) return &operand;
  return nullptr;
}

/// One Step about to run, with its operands and nothing else of the Plan's memory.
template <typename Bound>
struct StepOperands {
  const Plan& plan;
  const Step& step;
  std::vector<Bound> reads, writes;

  /// The i-th data operand read or written; throws std::out_of_range when the Step has fewer.
  const Bound& data(size_t i) const { return *operandsOf(reads, Use::data).at(i); }
  const Bound& out(size_t i) const { return *operandsOf(writes, Use::data).at(i); }
  size_t dataCount() const { return operandsOf(reads, Use::data).size(); }
  size_t outCount() const { return operandsOf(writes, Use::data).size(); }
  /// The first operand of a use that is read or written; null when there is none.
  const Bound* read(Use use) const { return first(reads, use); }
  const Bound* written(Use use) const { return first(writes, use); }

 private:
  static const Bound* first(const std::vector<Bound>& operands, Use use) {
    const auto found = operandsOf(operands, use);
    return found.empty() ? nullptr : found.front();
  }
};

/// A Step with operands on the host or on a GPU, whose bytes the backend interprets itself.
using BoundStep = StepOperands<BoundOperand>;

/// Binds a Step's operands; `storageOf` leads from a buffer that owns its storage to its first byte, and may throw.
BoundStep bindStep(const Plan& plan, const Step& step, const std::function<std::byte*(BufferId)>& storageOf);

}  // namespace moeblaze
