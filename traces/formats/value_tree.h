#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace moeblaze {

enum class ValueKind : uint8_t {
  none,
  boolean,
  integer,
  unsignedInteger,  ///< above the int64 range
  real,
  text,
  tuple,
  list,
  dict,
};
std::string_view name(ValueKind kind);

/// The first ids are the values that need no storage.
enum class ValueId : uint32_t { none, no, yes };

/// Values out of a foreign file, in one arena: containers hold ids, so what a file shares is shared here, and what
/// refers to itself does so here. Every addition is bounded; too many throw InputError.
class ValueTree {
 public:
  static constexpr size_t kMaxValues = size_t{1} << 27;
  static constexpr size_t kMaxReferences = size_t{1} << 29;
  static constexpr size_t kMaxTextBytes = size_t{16} << 20;

  /// `source` stands for the file in errors.
  explicit ValueTree(std::string source);

  ValueId addInteger(int64_t value);
  ValueId addUnsigned(uint64_t value);
  ValueId addReal(double value);
  ValueId addText(std::string_view text);
  /// An empty tuple, list or dict.
  ValueId addContainer(ValueKind kind);
  /// Puts `items` (keys and values in turn for a dict) at the container's end.
  void append(ValueId container, std::span<const ValueId> items);
  void setRoot(ValueId root) { root_ = root; }
  void countClamped() { ++clamped_; }

  ValueId root() const { return root_; }
  ValueKind kind(ValueId id) const { return node(id).kind; }
  bool isSequence(ValueId id) const { return kind(id) == ValueKind::list || kind(id) == ValueKind::tuple; }
  /// The bits of an integer or boolean.
  uint64_t bits(ValueId id) const { return node(id).value; }
  double real(ValueId id) const;
  std::string_view text(ValueId id) const;
  /// What a container holds; keys and values in turn for a dict.
  std::span<const ValueId> items(ValueId id) const;
  /// The value of the last `key` in a dict; nothing when it is missing or None.
  std::optional<ValueId> find(ValueId dict, std::string_view key) const;

  const std::string& source() const { return source_; }
  /// Integers beyond 64 bits, which are kept as the nearest that fits.
  int64_t clamped() const { return clamped_; }

 private:
  struct Node {
    ValueKind kind = ValueKind::none;
    uint8_t capacityLog = 0;  ///< of a container that grew; 0: exactly `count`
    uint32_t count = 0;       ///< items or bytes
    uint64_t value = 0;       ///< bits, or where items or bytes begin
  };

  const Node& node(ValueId id) const { return nodes_[static_cast<size_t>(id)]; }
  ValueId add(const Node& node);
  void reserve(Node& container, size_t count);

  std::string source_;
  std::vector<Node> nodes_;
  std::vector<ValueId> references_;
  std::string texts_;
  ValueId root_ = ValueId::none;
  int64_t clamped_ = 0;
};

}  // namespace moeblaze
