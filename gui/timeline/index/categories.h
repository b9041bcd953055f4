#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze::gui {

/// What the bands of a memory curve tell apart; stacks by the line of a program that they come from.
enum class CategoryMode : uint8_t { role, name, step, stack };
inline constexpr std::array kCategoryModes{CategoryMode::role, CategoryMode::name, CategoryMode::step,
                                           CategoryMode::stack};
std::string_view name(CategoryMode mode);

/// Most bands of a curve.
inline constexpr size_t kMaxCategories = 8;

/// A band.
struct Category {
  std::string name;
  Role role = Role::unknown;  ///< of the mode `role`, where the band is one role: its colour
  bool isRole = false;
  bool isOther = false;  ///< all that have no band of their own
};

/// Sorts a track's allocations into at most kMaxCategories bands: those with the most bytes × lifetime, and the rest.
/// Roles keep their order so that one looks the same in every trace; others come largest first. Immutable.
class Categorizer {
 public:
  /// One band of everything.
  explicit Categorizer(std::string name);
  Categorizer(const Trace& trace, TrackId track, CategoryMode mode);

  size_t operator()(const Allocation& allocation) const;
  std::span<const Category> categories() const { return categories_; }

 private:
  size_t keyOf(const Allocation& allocation) const;

  CategoryMode mode_ = CategoryMode::role;
  std::vector<uint8_t> ofKey_;  ///< empty: all in one
  std::vector<Category> categories_;
};

}  // namespace moeblaze::gui
