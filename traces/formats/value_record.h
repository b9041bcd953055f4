#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/error.h"
#include "traces/formats/value_tree.h"

namespace moeblaze {

/// Where a value stands in its file, such as "segments[3].blocks[2]". It is cheap to pass around, because the text is
/// only made for an error.
struct ValuePlace {
  std::string_view list;
  int64_t outer = -1;  ///< index into `list`; negative for none
  std::string_view inner = {};
  int64_t index = -1;  ///< index into `inner`; negative for none

  std::string text() const;
};

/// A dict of a foreign file. Its accessors throw InputError for values that are missing or not allowed; the error names
/// the file, the place, the field, the value and what is allowed. A value of None counts as missing.
class ValueRecord {
 public:
  static constexpr size_t kMaxKeys = 64;

  /// Throws InputError unless `id` is a dict of at most kMaxKeys keys.
  ValueRecord(const ValueTree& tree, ValueId id, const ValuePlace& place);

  std::optional<ValueId> find(std::string_view key) const { return tree_.find(id_, key); }
  bool has(std::string_view key) const { return find(key).has_value(); }
  /// An integer in [low, high]. With `fallback`, this is the value of a missing field.
  int64_t integer(std::string_view key, int64_t low, int64_t high) const;
  int64_t integer(std::string_view key, int64_t low, int64_t high, int64_t fallback) const;
  /// An integer from 0 to 2^64 - 1.
  uint64_t address(std::string_view key) const;
  /// The 64 bits of an integer, for handles, whose sign means nothing.
  uint64_t bits(std::string_view key) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string_view text(std::string_view key) const;
  std::string_view text(std::string_view key, std::string_view fallback) const;
  /// The items of a list or tuple. Empty when the field is missing.
  std::span<const ValueId> list(std::string_view key) const;

 private:
  ValueId need(std::string_view key, std::string_view allowed) const;
  [[noreturn]] void fail(std::string_view key, ValueId value, std::string_view allowed) const;

  const ValueTree& tree_;
  ValueId id_;
  ValuePlace place_;
};

/// A value as an error shows it: "'alloc'", "17" or "(list)".
std::string describe(const ValueTree& tree, ValueId id);

/// The items of a list or tuple. Throws InputError naming `field` for anything else.
std::span<const ValueId> sequence(const ValueTree& tree, ValueId id, std::string_view field);

}  // namespace moeblaze
