#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/progress.h"
#include "gui/timeline/index/time_order.h"

namespace moeblaze::gui {

/// All changes of one track's memory in the order of time: the points of its MemoryCurve, and the events at each point.
/// Immutable, and safe to share between threads.
class MemoryEvents {
 public:
  /// An allocation, or the end of one.
  struct Event {
    uint32_t allocation = 0;  ///< index into Trace::allocations
    bool isFree = false;
  };

  MemoryEvents(std::shared_ptr<const Trace> trace, TrackId track, const Progress& progress = {});

  const Trace& trace() const { return *trace_; }
  TrackId track() const { return track_; }
  /// The number of events.
  size_t size() const { return refs_.size(); }

  /// times() are the instants at which the memory changed, in ascending order; bytes() is the memory from each to the
  /// next.
  std::span<const int64_t> times() const { return times_; }
  std::span<const int64_t> bytes() const { return bytes_; }
  /// The number of points, which is that of different instants.
  size_t pointCount() const { return times_.size(); }
  /// Index of the first event of a point. The events [firstEvent(p), firstEvent(p + 1)) happened at point p, frees
  /// first.
  size_t firstEvent(size_t point) const { return firstEvents_[point]; }
  Event event(size_t at) const { return {refs_[at] >> 1, (refs_[at] & 1) != 0}; }

  /// The first instant of the most bytes, as MemoryCurve::peak(); zeros for an empty track.
  MemoryCurve::Point peak() const { return peak_; }
  /// The bytes alive at `timeNs`.
  int64_t bytesAt(int64_t timeNs) const;
  /// The allocations alive at `timeNs`, largest first, as MemoryCurve::liveAt(): indices into Trace::allocations.
  std::vector<size_t> liveAt(int64_t timeNs) const;
  /// The next or the previous instant at which the memory changed.
  std::optional<int64_t> nextEvent(int64_t timeNs) const;
  std::optional<int64_t> previousEvent(int64_t timeNs) const;

 private:
  /// The allocations alive after a point. liveAt() starts from the nearest checkpoint instead of the beginning.
  struct Checkpoint {
    size_t point = 0;
    std::vector<uint32_t> live;
  };
  void merge(std::span<const Timed> allocs, std::span<const Timed> frees, const Progress& progress);
  void addCheckpoints(const Progress& progress);
  void addLive(const Checkpoint* from, size_t toPoint, int64_t timeNs, std::vector<uint32_t>& live) const;

  std::shared_ptr<const Trace> trace_;
  TrackId track_;
  std::vector<int64_t> times_, bytes_;
  std::vector<uint32_t> firstEvents_;  ///< one more than there are points
  std::vector<uint32_t> refs_;         ///< allocation << 1 | isFree
  std::vector<Checkpoint> checkpoints_;
  MemoryCurve::Point peak_;
};

}  // namespace moeblaze::gui
