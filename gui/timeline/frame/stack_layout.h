#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gui/timeline/index/lifetime_index.h"
#include "gui/timeline/index/memory_index.h"

namespace moeblaze::gui {

/// One allocation of a stack: it sinks when one below it is freed.
struct StackPolygon {
  /// From this column on.
  struct Step {
    int column = 0;
    int64_t bottomBytes = 0;
  };
  uint32_t allocation = 0;  ///< index into Trace::allocations
  int endColumn = 0;        ///< one past the last
  std::vector<Step> steps;  ///< ascending, at least one

  /// One past the last column of a step.
  int endOfStep(size_t step) const { return step + 1 < steps.size() ? steps[step + 1].column : endColumn; }
};

/// What was alive, allocation on allocation in the order they were made, at the instant of each column's maximum: its
/// height is that of the bands.
struct StackLayout {
  static constexpr size_t kMaxShown = 3000;

  std::vector<StackPolygon> polygons;  ///< lowest first
  std::vector<int64_t> otherBytes;     ///< by column: those without a polygon, on top of the others
  size_t shown = 0;                    ///< allocations considered: those with the most bytes × time in the window
  size_t alive = 0;                    ///< allocations of the window
};

/// Steps of less than `leastStepBytes` wait until they have added up: nobody would see them.
StackLayout layOutStack(const LifetimeIndex& lifetimes, const TimeScale& scale, std::span<const MemoryColumn> columns,
                        int64_t leastStepBytes = 1, size_t most = StackLayout::kMaxShown);
/// The same of those already found.
StackLayout layOutStack(const LifetimeIndex& lifetimes, const LifetimeIndex::InWindow& found,
                        std::span<const MemoryColumn> columns, int64_t leastStepBytes);

}  // namespace moeblaze::gui
