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

/// The addresses a track's allocations used, without the gaps between: an axis of bytes from 0 to size(). Immutable.
class AddressSpace {
 public:
  /// Addresses [start, end), at `offset` of the axis.
  struct Run {
    uint64_t start = 0, end = 0;
    uint64_t offset = 0;
  };

  AddressSpace() = default;
  /// Of the allocations of `track`, and of `segments` unless that is TrackId::none; to whole pages of 2 MiB or more.
  AddressSpace(const Trace& trace, TrackId track, TrackId segments);

  std::span<const Run> runs() const { return runs_; }
  uint64_t size() const { return size_; }
  /// Nothing for an address in a gap.
  std::optional<uint64_t> offsetOf(uint64_t address) const;
  uint64_t addressAt(uint64_t offset) const;

 private:
  std::vector<Run> runs_;
  uint64_t size_ = 0;
};

/// An allocation of an address map, in pixels; `top` is that of its high end.
struct AddressBox {
  uint32_t allocation = 0;  ///< index into Trace::allocations
  float left = 0, right = 0, top = 0, bottom = 0;
};

/// Where a track's allocations lay over time. Addresses do not move, so each is one rectangle. Immutable and safe to
/// share between threads.
class AddressMap {
 public:
  AddressMap(std::shared_ptr<const LifetimeIndex> lifetimes, const MemoryEvents& events, TrackId segments,
             const Progress& progress = {});

  const AddressSpace& space() const { return space_; }
  /// True when no allocation has an address.
  bool empty() const { return space_.size() == 0; }

  const LifetimeIndex& lifetimes() const { return *lifetimes_; }
  /// Boxes of those of some allocations that have an address, in their order.
  std::vector<AddressBox> boxes(const TimeScale& scale, double height, std::span<const uint32_t> allocations) const;

  /// How full the axis was, for windows with too many boxes: kRows rows (low addresses first) of bins() each, over
  /// fillWindow(); 0 empty to 255 full.
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
