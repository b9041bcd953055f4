#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "core/plan/plan.h"

namespace moeblaze {

/// A buffer's storage as a Step sees it, on the host or on a GPU: a matrix of rows of the last extent, or a column
/// where a layout holds one value a row, slot or expert and token.
struct BoundOperand {
  const Buffer* buffer = nullptr;
  Use use = Use::data;
  std::byte* data = nullptr;  ///< first element, a view's column included
  int64_t rowStride = 0;      ///< elements from one row to the next

  int64_t rows() const { return buffer->shape.count() / columns(); }
  int64_t columns() const { return columnsOf(*buffer); }
  /// One value for each row, slot or pair: the last extent counts them.
  static int64_t columnsOf(const Buffer& buffer);
};

/// The operand whose storage begins at `storage`, the first byte of the buffer that owns it.
BoundOperand bindOperand(const Plan& plan, const Operand& operand, std::byte* storage);

/// Operands of `use`; for data, those that order tells apart: weights, scratch and index structures are recognised by
/// what they are. `Bound` is BoundOperand or derived from it.
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

/// Parameters among `operands` that are read as data.
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

/// One Step about to run: its operands and nothing else of the Plan's memory.
struct BoundStep {
  const Plan& plan;
  const Step& step;
  std::vector<BoundOperand> reads, writes;

  /// The i-th data operand read or written; throws std::out_of_range when the Step has fewer.
  const BoundOperand& data(size_t i) const { return *operandsOf(reads, Use::data).at(i); }
  const BoundOperand& out(size_t i) const { return *operandsOf(writes, Use::data).at(i); }
  size_t dataCount() const { return operandsOf(reads, Use::data).size(); }
  size_t outCount() const { return operandsOf(writes, Use::data).size(); }
  /// The operand of a use; null when there is none.
  const BoundOperand* read(Use use) const { return first(reads, use); }
  const BoundOperand* written(Use use) const { return first(writes, use); }

 private:
  static const BoundOperand* first(const std::vector<BoundOperand>& operands, Use use) {
    const auto found = operandsOf(operands, use);
    return found.empty() ? nullptr : found.front();
  }
};

/// Binds a Step's operands; `storageOf` leads from a buffer that owns its storage to its first byte, and may throw.
BoundStep bindStep(const Plan& plan, const Step& step, const std::function<std::byte*(BufferId)>& storageOf);

}  // namespace moeblaze
