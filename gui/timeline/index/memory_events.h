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

/// Everything that changed one track's memory, sorted: the points of its MemoryCurve and the events behind each.
/// Immutable and safe to share between threads.
class MemoryEvents {
 public:
  /// An allocation or its end.
  struct Event {
    uint32_t allocation = 0;  ///< index into Trace::allocations
    bool isFree = false;
  };

  MemoryEvents(std::shared_ptr<const Trace> trace, TrackId track, const Progress& progress = {});

  const Trace& trace() const { return *trace_; }
  TrackId track() const { return track_; }
  size_t size() const { return refs_.size(); }

  /// Instants at which something changed, ascending; and the bytes from each to the next.
  std::span<const int64_t> times() const { return times_; }
  std::span<const int64_t> bytes() const { return bytes_; }
  size_t pointCount() const { return times_.size(); }
  /// Events of the points before this one: [firstEvent(p), firstEvent(p + 1)) happened at point p, frees first.
  size_t firstEvent(size_t point) const { return firstEvents_[point]; }
  Event event(size_t at) const { return {refs_[at] >> 1, (refs_[at] & 1) != 0}; }

  /// The first instant of the most bytes; zero for an empty track. As MemoryCurve::peak().
  MemoryCurve::Point peak() const { return peak_; }
  int64_t bytesAt(int64_t timeNs) const;
  /// Indices into Trace::allocations of what is alive at `timeNs`, largest first. As MemoryCurve::liveAt().
  std::vector<size_t> liveAt(int64_t timeNs) const;
  /// The nearest instant after or before at which something changed.
  std::optional<int64_t> nextEvent(int64_t timeNs) const;
  std::optional<int64_t> previousEvent(int64_t timeNs) const;

 private:
  /// What is alive after a point, so that nobody has to replay everything.
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
  std::vector<uint32_t> firstEvents_;  ///< one more than points
  std::vector<uint32_t> refs_;         ///< allocation << 1 | isFree
  std::vector<Checkpoint> checkpoints_;
  MemoryCurve::Point peak_;
};

}  // namespace moeblaze::gui
