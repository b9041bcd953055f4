#include "traces/formats/value_record.h"

#include <limits>

namespace moeblaze {

std::string ValuePlace::text() const {
  std::string text(list);
  if (outer >= 0) text += fmt::format("[{}]", outer);
  text += inner;
  if (index >= 0) text += fmt::format("[{}]", index);
  return text;
}

std::string describe(const ValueTree& tree, ValueId id) {
  switch (tree.kind(id)) {
    case ValueKind::boolean:
      return id == ValueId::yes ? "True" : "False";
    case ValueKind::integer:
      return std::to_string(static_cast<int64_t>(tree.bits(id)));
    case ValueKind::unsignedInteger:
      return std::to_string(tree.bits(id));
    case ValueKind::real:
      return fmt::format("{}", tree.real(id));
    case ValueKind::text:
      return quote(tree.text(id));
    default:
      return fmt::format("({})", name(tree.kind(id)));
  }
}

std::span<const ValueId> sequence(const ValueTree& tree, ValueId id, std::string_view field) {
  if (!tree.isSequence(id)) refuse(tree.source(), "{} is {}; allowed: a list", field, describe(tree, id));
  return tree.items(id);
}

ValueRecord::ValueRecord(const ValueTree& tree, ValueId id, const ValuePlace& place)
    : tree_(tree), id_(id), place_(place) {
  if (tree.kind(id) != ValueKind::dict) {
    refuse(tree.source(), "{} is {}; allowed: a dict", place.text(), describe(tree, id));
  }
  if (tree.items(id).size() > 2 * kMaxKeys) {
    refuse(tree.source(), "{} has {} keys; allowed: up to {}", place.text(), tree.items(id).size() / 2, kMaxKeys);
  }
}

void ValueRecord::fail(std::string_view key, ValueId value, std::string_view allowed) const {
  refuse(tree_.source(), "{}.{} is {}; allowed: {}", place_.text(), key, describe(tree_, value), allowed);
}

ValueId ValueRecord::need(std::string_view key, std::string_view allowed) const {
  const std::optional<ValueId> value = find(key);
  if (!value) refuse(tree_.source(), "{}.{} is missing; needed: {}", place_.text(), key, allowed);
  return *value;
}

int64_t ValueRecord::integer(std::string_view key, int64_t low, int64_t high) const {
  const ValueId value = need(key, "an integer");
  const auto number = static_cast<int64_t>(tree_.bits(value));
  if (tree_.kind(value) != ValueKind::integer || number < low || number > high) {
    fail(key, value, fmt::format("an integer from {} to {}", low, high));
  }
  return number;
}

int64_t ValueRecord::integer(std::string_view key, int64_t low, int64_t high, int64_t fallback) const {
  return has(key) ? integer(key, low, high) : fallback;
}

uint64_t ValueRecord::address(std::string_view key) const {
  const ValueId value = need(key, "an address");
  const bool isPositive = tree_.kind(value) == ValueKind::unsignedInteger ||
                          (tree_.kind(value) == ValueKind::integer && static_cast<int64_t>(tree_.bits(value)) >= 0);
  if (!isPositive) fail(key, value, "an address from 0 to 2^64 - 1");
  return tree_.bits(value);
}

uint64_t ValueRecord::bits(std::string_view key) const {
  const ValueId value = need(key, "an integer");
  const ValueKind kind = tree_.kind(value);
  if (kind != ValueKind::integer && kind != ValueKind::unsignedInteger) fail(key, value, "an integer");
  return tree_.bits(value);
}

bool ValueRecord::boolean(std::string_view key, bool fallback) const {
  const std::optional<ValueId> value = find(key);
  if (!value) return fallback;
  if (tree_.kind(*value) != ValueKind::boolean) fail(key, *value, "True or False");
  return *value == ValueId::yes;
}

std::string_view ValueRecord::text(std::string_view key) const {
  const ValueId value = need(key, "a text");
  if (tree_.kind(value) != ValueKind::text) fail(key, value, "a text");
  return tree_.text(value);
}

std::string_view ValueRecord::text(std::string_view key, std::string_view fallback) const {
  return has(key) ? text(key) : fallback;
}

std::span<const ValueId> ValueRecord::list(std::string_view key) const {
  const std::optional<ValueId> value = find(key);
  if (!value) return {};
  if (!tree_.isSequence(*value)) fail(key, *value, "a list");
  return tree_.items(*value);
}

}  // namespace moeblaze
