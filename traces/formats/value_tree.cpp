#include "traces/formats/value_tree.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "core/base/error.h"

namespace moeblaze {

std::string_view name(ValueKind kind) {
  constexpr std::array<std::string_view, 9> kNames{"None", "boolean", "integer", "integer", "number",
                                                   "text", "tuple",   "list",    "dict"};
  return kNames[static_cast<size_t>(kind)];
}

ValueTree::ValueTree(std::string source) : source_(std::move(source)) {
  nodes_ = {{ValueKind::none}, {ValueKind::boolean, 0, 0, 0}, {ValueKind::boolean, 0, 0, 1}};
}

ValueId ValueTree::add(const Node& node) {
  if (nodes_.size() >= kMaxValues) refuse(source_, "holds too many values; allowed: up to {}", kMaxValues);
  nodes_.push_back(node);
  return static_cast<ValueId>(nodes_.size() - 1);
}

ValueId ValueTree::addInteger(int64_t value) { return add({ValueKind::integer, 0, 0, static_cast<uint64_t>(value)}); }

ValueId ValueTree::addUnsigned(uint64_t value) {
  return value >> 63 ? add({ValueKind::unsignedInteger, 0, 0, value}) : addInteger(static_cast<int64_t>(value));
}

ValueId ValueTree::addReal(double value) { return add({ValueKind::real, 0, 0, std::bit_cast<uint64_t>(value)}); }

ValueId ValueTree::addText(std::string_view text) {
  if (text.size() > kMaxValueTextBytes) {
    refuse(source_, "holds a text of {} bytes; allowed: up to {}", text.size(), kMaxValueTextBytes);
  }
  const ValueId id = add({ValueKind::text, 0, static_cast<uint32_t>(text.size()), texts_.size()});
  texts_ += text;
  return id;
}

ValueId ValueTree::addContainer(ValueKind kind) { return add({kind, 0, 0, 0}); }

void ValueTree::append(ValueId container, std::span<const ValueId> items) {
  if (items.empty()) return;
  Node& node = nodes_[static_cast<size_t>(container)];
  assert(node.kind >= ValueKind::tuple);
  reserve(node, node.count + items.size());
  std::ranges::copy(items, references_.begin() + static_cast<ptrdiff_t>(node.value + node.count));
  node.count += static_cast<uint32_t>(items.size());
}

void ValueTree::reserve(Node& container, size_t count) {
  const size_t capacity = container.capacityLog ? size_t{1} << container.capacityLog : container.count;
  if (count <= capacity) return;
  // Most containers are filled at once and get exactly the room they need. One that grows moves to twice the room.
  const size_t room = container.count ? std::bit_ceil(count) : count;
  const size_t begin = references_.size();
  if (begin + room > kMaxReferences) {
    refuse(source_, "holds too many list items; allowed: up to {}", kMaxReferences);
  }
  references_.resize(begin + room);
  std::copy_n(references_.begin() + static_cast<ptrdiff_t>(container.value), container.count,
              references_.begin() + static_cast<ptrdiff_t>(begin));
  container.capacityLog = container.count ? static_cast<uint8_t>(std::bit_width(room) - 1) : uint8_t{0};
  container.value = begin;
}

double ValueTree::real(ValueId id) const { return std::bit_cast<double>(node(id).value); }

std::string_view ValueTree::text(ValueId id) const {
  assert(kind(id) == ValueKind::text);
  return std::string_view(texts_).substr(node(id).value, node(id).count);
}

std::span<const ValueId> ValueTree::items(ValueId id) const {
  assert(kind(id) >= ValueKind::tuple);
  return std::span(references_).subspan(node(id).value, node(id).count);
}

std::optional<ValueId> ValueTree::find(ValueId dict, std::string_view key) const {
  const std::span<const ValueId> pairs = items(dict);
  for (size_t i = pairs.size(); i >= 2; i -= 2) {
    if (kind(pairs[i - 2]) != ValueKind::text || text(pairs[i - 2]) != key) continue;
    return pairs[i - 1] == ValueId::none ? std::nullopt : std::optional(pairs[i - 1]);
  }
  return std::nullopt;
}

}  // namespace moeblaze
