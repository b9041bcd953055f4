#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "gui/timeline/index/lifetime_index.h"
#include "gui/timeline/index/memory_index.h"

namespace moeblaze::gui {

/// The area of one allocation in a stack. It sinks when an allocation below it is freed.
struct StackPolygon {
  /// The height of the bottom from one column on.
  struct Step {
    int column = 0;
    int64_t bottomBytes = 0;
  };
  uint32_t allocation = 0;  ///< index into Trace::allocations
  int endColumn = 0;        ///< one past its last column
  std::vector<Step> steps;  ///< in ascending order of columns, at least one

  /// One past the last column of a step.
  int endOfStep(size_t step) const { return step + 1 < steps.size() ? steps[step + 1].column : endColumn; }
};

/// The allocations alive at the instant of each column's maximum, stacked in the order they were made. A column of the
/// stack is as high as the bands of the memory pane.
struct StackLayout {
  static constexpr size_t kMaxShown = 3000;

  std::vector<StackPolygon> polygons;  ///< lowest first
  std::vector<int64_t> otherBytes;     ///< for each column, the bytes of allocations without a polygon; they lie on top
  /// Number of allocations considered: the largest in bytes × time within the window.
  size_t shown = 0;
  size_t alive = 0;  ///< number of allocations alive in the window
};

/// Lays out the stack of a window, with at most `most` allocations. Moves of less than `leastStepBytes` are postponed
/// until they add up to as much, because nobody would see them.
StackLayout layOutStack(const LifetimeIndex& lifetimes, const TimeScale& scale, std::span<const MemoryColumn> columns,
                        int64_t leastStepBytes = 1, size_t most = StackLayout::kMaxShown);
/// The same for allocations that were already looked up.
StackLayout layOutStack(const LifetimeIndex& lifetimes, const LifetimeIndex::InWindow& found,
                        std::span<const MemoryColumn> columns, int64_t leastStepBytes);

}  // namespace moeblaze::gui
