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
  unsignedInteger,  ///< an integer above the range of int64
  real,
  text,
  tuple,
  list,
  dict,
};
std::string_view name(ValueKind kind);

/// A value of a ValueTree. The named ones are the same in every tree.
enum class ValueId : uint32_t { none, no, yes };

/// The values of a foreign file, in one arena. Containers hold ids, so values that the file shares are shared here, and
/// a container may contain itself. Throws InputError when there are too many values.
class ValueTree {
 public:
  static constexpr size_t kMaxFileBytes = size_t{2} << 30;  ///< of a pickle or JSON text to read into a tree
  static constexpr size_t kMaxValues = size_t{1} << 27;
  static constexpr size_t kMaxReferences = size_t{1} << 29;  ///< items of all containers together
  static constexpr size_t kMaxValueTextBytes = size_t{16} << 20;

  /// `source` stands for the file in errors.
  explicit ValueTree(std::string source);

  ValueId addInteger(int64_t value);
  ValueId addUnsigned(uint64_t value);
  ValueId addReal(double value);
  ValueId addText(std::string_view text);
  /// Adds an empty tuple, list or dict.
  ValueId addContainer(ValueKind kind);
  /// Adds `items` at the end of a container. For a dict they are keys and values in turn.
  void append(ValueId container, std::span<const ValueId> items);
  void setRoot(ValueId root) { root_ = root; }
  /// Counts an integer that did not fit into 64 bits.
  void countClamped() { ++clamped_; }

  ValueId root() const { return root_; }
  ValueKind kind(ValueId id) const { return node(id).kind; }
  bool isSequence(ValueId id) const { return kind(id) == ValueKind::list || kind(id) == ValueKind::tuple; }
  /// The bits of an integer or boolean.
  uint64_t bits(ValueId id) const { return node(id).value; }
  double real(ValueId id) const;
  std::string_view text(ValueId id) const;
  /// The items of a container. For a dict they are keys and values in turn.
  std::span<const ValueId> items(ValueId id) const;
  /// The value of the last entry with `key` in a dict. Nothing when there is none or its value is None.
  std::optional<ValueId> find(ValueId dict, std::string_view key) const;

  const std::string& source() const { return source_; }
  /// How many integers did not fit into 64 bits; each was kept as the nearest integer that fits.
  int64_t clamped() const { return clamped_; }

 private:
  struct Node {
    ValueKind kind = ValueKind::none;
    uint8_t capacityLog = 0;  ///< log2 of the room of a container that has grown; 0 when its room is `count`
    uint32_t count = 0;       ///< how many items or bytes it has
    uint64_t value = 0;       ///< its bits, or where its items or bytes begin
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
