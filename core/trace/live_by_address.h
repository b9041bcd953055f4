#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace moeblaze {

/// Pairs every free with the live allocation at its address. At most one allocation lives at an address; `Value` is
/// what the caller knows of it. What an unexpected free or a repeated allocation means is for the caller to decide.
template <typename Value>
class LiveByAddress {
 public:
  /// From now on `value` lives at `address`. Returns what lived there until now: its free was never seen.
  std::optional<Value> allocate(uint64_t address, Value value) {
    const auto [entry, isNew] = live_.try_emplace(address);
    std::optional<Value> before;
    if (!isNew) before = std::move(entry->second);
    entry->second = std::move(value);
    return before;
  }

  /// Ends what lives at `address` and returns it. Returns nothing when the address holds no live allocation.
  std::optional<Value> free(uint64_t address) {
    const auto found = live_.find(address);
    if (found == live_.end()) return std::nullopt;
    std::optional<Value> value = std::move(found->second);
    live_.erase(found);
    return value;
  }

  /// What lives at `address`; null when nothing does.
  const Value* find(uint64_t address) const {
    const auto found = live_.find(address);
    return found == live_.end() ? nullptr : &found->second;
  }

  /// The lowest address beyond `address` at which something lives.
  std::optional<uint64_t> nextAfter(uint64_t address) const {
    const auto next = live_.upper_bound(address);
    return next == live_.end() ? std::nullopt : std::optional(next->first);
  }

  /// Everything that lives, as pairs of address and value in the order of addresses.
  auto begin() const { return live_.begin(); }
  auto end() const { return live_.end(); }

 private:
  std::map<uint64_t, Value> live_;
};

}  // namespace moeblaze
