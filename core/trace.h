#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/plan.h"

namespace moeblaze {

enum class TrackId : int32_t { none = -1 };

/// A lane of a trace: what was planned, or what was observed of it.
struct Track {
  std::string name;
  bool planned = true;
};

/// Something that took time. Times in ns from the start of the trace.
struct Span {
  TrackId track = TrackId::none;
  std::string name;
  int64_t startNs = 0;
  int64_t durationNs = 0;
  StepId step = StepId::none;
};

/// Memory that existed from allocNs until freeNs; never freed when that is empty.
struct Allocation {
  TrackId track = TrackId::none;
  std::string name;
  Role role = Role::transient;
  int64_t bytes = 0;
  int64_t allocNs = 0;
  std::optional<int64_t> freeNs;
  StepId step = StepId::none;  ///< that first wrote it
};

/// Everything simulated, measured or imported, in one form.
struct Trace {
  std::vector<std::pair<std::string, std::string>> meta;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<Allocation> allocations;
};

/// A Plan with a time for every Step (ns each, run one after the other): the only way from a Plan to a Trace. One span
/// a Step and one allocation a counted buffer, on one planned track; outputs and gradients are not freed.
Trace makeTrace(const Plan& plan, std::span<const int64_t> stepNs);

/// Bytes over time of one track's allocations. An allocation counts from allocNs until just before freeNs, so at one
/// instant frees come before allocations.
class MemoryCurve {
 public:
  struct Point {
    int64_t timeNs = 0;
    int64_t bytes = 0;  ///< from here to the next point
  };

  MemoryCurve(const Trace& trace, TrackId track);

  /// Ascending in time, one per instant at which something changed.
  std::span<const Point> points() const { return points_; }
  /// The first instant of the most bytes; zero for an empty track.
  Point peak() const;
  int64_t bytesAt(int64_t timeNs) const;
  /// Indices into the trace's allocations of what is alive at `timeNs`, largest first.
  std::vector<size_t> liveAt(int64_t timeNs) const;

 private:
  const Trace* trace_;
  TrackId track_;
  std::vector<Point> points_;
};

}  // namespace moeblaze
