#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze::gui {

/// What allocations can be told apart by, in the bands of a curve and in tables.
enum class Attribute : uint8_t { role, name, step, stack };
inline constexpr std::array kAttributes{Attribute::role, Attribute::name, Attribute::step, Attribute::stack};
/// "role", "name", "Step" or "stack".
std::string_view name(Attribute attribute);

/// The key of an allocation's value: a number from 0 up. It is the index of the role, the StringId of the name, the
/// StackId of the stack, or the StepId plus one, so that 0 stands for no name, no Step and no stack.
size_t keyOf(const Allocation& allocation, Attribute attribute);

/// The frame that names a call stack: the innermost Python frame outside PyTorch, which is the program's own line, or
/// the innermost frame when there is none. `frames` is innermost first and not empty.
const Frame& ownFrame(const Trace& trace, std::span<const Frame> frames);
/// The name of a frame's file without its folders.
std::string_view fileName(const Trace& trace, const Frame& frame);

/// The maximum number of bands of a curve.
inline constexpr size_t kMaxCategories = 8;

/// A band of a memory curve.
struct Category {
  std::string name;
  Role role = Role::unknown;  ///< the role if isRole; it decides the colour
  bool isRole = false;
  bool isOther = false;  ///< whether it holds everything without a band of its own
};

/// Assigns the allocations of a track to at most kMaxCategories bands: the values with the most bytes × lifetime get
/// their own band, the rest share one. Roles keep their order, so that traces look alike; other values come largest
/// first. Immutable.
class Categorizer {
 public:
  /// One band for everything.
  explicit Categorizer(std::string name);
  Categorizer(const Trace& trace, TrackId track, Attribute attribute);

  /// The band of an allocation, as an index into categories().
  size_t operator()(const Allocation& allocation) const;
  std::span<const Category> categories() const { return categories_; }

 private:
  Attribute attribute_ = Attribute::role;
  std::vector<uint8_t> ofKey_;  ///< the band of each key; empty if there is only one band
  std::vector<Category> categories_;
};

}  // namespace moeblaze::gui
