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

/// Where a value stands in its file: "segments[3].blocks[2]". Cheap to carry; only an error spells it out.
struct ValuePlace {
  std::string_view list;
  int64_t outer = -1;  ///< index into it; none when negative
  std::string_view inner = {};
  int64_t index = -1;  ///< into `inner`

  std::string text() const;
};

/// A dict out of a foreign file. Every accessor names file, place and field in the InputError it throws, with the value
/// found and what is allowed. None counts as missing.
class ValueRecord {
 public:
  static constexpr size_t kMaxKeys = 64;

  /// Throws unless `id` is a dict of at most kMaxKeys.
  ValueRecord(const ValueTree& tree, ValueId id, const ValuePlace& place);

  std::optional<ValueId> find(std::string_view key) const { return tree_.find(id_, key); }
  bool has(std::string_view key) const { return find(key).has_value(); }
  /// Integer in [low, high].
  int64_t integer(std::string_view key, int64_t low, int64_t high) const;
  int64_t integer(std::string_view key, int64_t low, int64_t high, int64_t fallback) const;
  uint64_t address(std::string_view key) const;
  /// The 64 bits of an integer: for handles, where a sign means nothing.
  uint64_t bits(std::string_view key) const;
  bool boolean(std::string_view key, bool fallback) const;
  std::string_view text(std::string_view key) const;
  std::string_view text(std::string_view key, std::string_view fallback) const;
  /// The items of a list or tuple; empty when it is missing.
  std::span<const ValueId> list(std::string_view key) const;

 private:
  ValueId need(std::string_view key, std::string_view allowed) const;
  [[noreturn]] void fail(std::string_view key, ValueId value, std::string_view allowed) const;

  const ValueTree& tree_;
  ValueId id_;
  ValuePlace place_;
};

/// "'alloc'", "17", "(list)": a value as an error shows it.
std::string describe(const ValueTree& tree, ValueId id);

/// The items of a list or tuple; throws InputError naming `field` for anything else.
std::span<const ValueId> sequence(const ValueTree& tree, ValueId id, std::string_view field);

}  // namespace moeblaze
