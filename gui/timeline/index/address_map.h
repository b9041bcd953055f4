#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/lifetime_index.h"
#include "gui/timeline/index/memory_events.h"
#include "gui/timeline/index/progress.h"

namespace moeblaze::gui {

/// The addresses that a track's allocations used, without the unused ranges between them: an axis of bytes from 0 to
/// size(). Immutable.
class AddressSpace {
 public:
  /// The addresses [start, end), which begin at `offset` of the axis.
  struct Run {
    uint64_t start = 0, end = 0;
    uint64_t offset = 0;
  };

  AddressSpace() = default;
  /// Takes the allocations of `track`, and those of `segments` unless it is TrackId::none. Ranges are rounded to pages
  /// of 2 MiB or more.
  AddressSpace(const Trace& trace, TrackId track, TrackId segments);

  std::span<const Run> runs() const { return runs_; }
  /// The length of the axis in bytes.
  uint64_t size() const { return size_; }
  /// The place of an address on the axis; nothing for an address in an unused range.
  std::optional<uint64_t> offsetOf(uint64_t address) const;
  /// The address at a place of the axis; 0 if there are no addresses.
  uint64_t addressAt(uint64_t offset) const;

 private:
  std::vector<Run> runs_;
  uint64_t size_ = 0;
};

/// The rectangle of an allocation in an address map, in pixels; `top` is the end of its addresses.
struct AddressBox {
  uint32_t allocation = 0;  ///< index into Trace::allocations
  float left = 0, right = 0, top = 0, bottom = 0;
};

/// Where a track's allocations lie in memory over time. An allocation does not move, so it is one rectangle. Immutable,
/// and safe to share between threads.
class AddressMap {
 public:
  AddressMap(std::shared_ptr<const LifetimeIndex> lifetimes, const MemoryEvents& events, TrackId segments,
             const Progress& progress = {});

  const AddressSpace& space() const { return space_; }
  /// True if no allocation has an address.
  bool empty() const { return space_.size() == 0; }

  const LifetimeIndex& lifetimes() const { return *lifetimes_; }
  /// The boxes of `allocations` that have an address, in the order given. `height` is that of the pane, in pixels.
  std::vector<AddressBox> boxes(const TimeScale& scale, double height, std::span<const uint32_t> allocations) const;

  /// How full the address axis is, for windows with too many boxes to draw: kRows rows, low addresses first, of bins()
  /// values each over fillWindow(). 0 is empty and 255 is full.
  static constexpr size_t kRows = 512;
  size_t bins() const { return bins_; }
  std::span<const uint8_t> fill(size_t row) const { return std::span(fill_).subspan(row * bins_, bins_); }
  const TimeWindow& fillWindow() const { return fillWindow_; }

 private:
  class Filler;

  std::shared_ptr<const LifetimeIndex> lifetimes_;
  AddressSpace space_;
  TimeWindow fillWindow_;
  size_t bins_ = 0;
  std::vector<uint8_t> fill_;
};

}  // namespace moeblaze::gui
