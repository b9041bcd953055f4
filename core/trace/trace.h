#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/plan/plan.h"

namespace moeblaze {

enum class TrackId : int32_t { none = -1 };
enum class StringId : uint32_t { empty = 0 };
enum class StackId : uint32_t { none = 0 };
constexpr size_t index(TrackId id) { return static_cast<size_t>(id); }
constexpr size_t index(StringId id) { return static_cast<size_t>(id); }
constexpr size_t index(StackId id) { return static_cast<size_t>(id); }

/// The texts of a trace, each stored once, since millions of events share a few names.
class Strings {
 public:
  Strings() { add({}); }
  StringId add(std::string_view text);
  const std::string& operator[](StringId id) const { return texts_[index(id)]; }
  size_t size() const { return texts_.size(); }

 private:
  std::vector<std::string> texts_;
  std::unordered_map<std::string, StringId> ids_;
};

/// One line of a call stack.
struct Frame {
  StringId function = StringId::empty, file = StringId::empty;
  int32_t line = 0;
  bool operator==(const Frame&) const = default;
};

/// The call stacks of a trace, each stored once, with the innermost frame first. StackId::none is the empty stack.
class Stacks {
 public:
  Stacks() { add({}); }
  StackId add(std::vector<Frame> frames);
  std::span<const Frame> operator[](StackId id) const { return stacks_[index(id)]; }
  size_t size() const { return stacks_.size(); }

 private:
  std::vector<std::vector<Frame>> stacks_;
  std::unordered_multimap<size_t, StackId> ids_;  ///< keyed by a hash of the frames
};

/// A GPU or the host.
struct Device {
  int32_t id = 0;  ///< the number that the recording gives it
  std::string name;
  int64_t memoryBytes = 0;  ///< 0 when not known
};

/// What the allocations of a track are.
enum class TrackKind : uint8_t {
  planned,   ///< buffers of a Plan
  observed,  ///< what a program allocated
  segments,  ///< what an allocator took from the device, known as reserved memory
};
std::string_view name(TrackKind kind);

/// A lane of a trace, to which spans, allocations and counters belong.
struct Track {
  std::string name;
  TrackKind kind = TrackKind::planned;
  int32_t device = 0;  ///< Device::id
};

/// Something that took time. Times are in ns from the start of the trace.
struct Span {
  TrackId track = TrackId::none;
  StringId name = StringId::empty;
  int64_t startNs = 0;
  int64_t durationNs = 0;
  StepId step = StepId::none;
};

/// The time of what did not happen within the trace.
inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// Memory that existed from allocNs until freeNs.
struct Allocation {
  TrackId track = TrackId::none;
  StringId name = StringId::empty;
  Role role = Role::unknown;
  bool older = false;                ///< it was allocated before the recording began, and allocNs is when that began
  BufferId buffer = BufferId::none;  ///< the Plan's buffer that it is for, where known; trace files do not keep it
  int64_t bytes = 0;
  int64_t requestedBytes = 0;  ///< what the program asked for; 0 when that is the same as `bytes`
  int64_t allocNs = 0;
  int64_t freeNs = kNever;           ///< from then on the memory can be used again
  StepId step = StepId::none;        ///< the Step that wrote it first
  StackId stack = StackId::none;     ///< the call stack that allocated it
  int64_t freeRequestedNs = kNever;  ///< when the program let go of it, if that was before freeNs
  uint64_t address = 0;              ///< 0 when not known
  int64_t stream = 0;
};

/// A quantity over time, in a unit such as "bytes" or "MHz".
struct Counter {
  TrackId track = TrackId::none;
  StringId name = StringId::empty, unit = StringId::empty;
  std::vector<std::pair<int64_t, double>> points;  ///< a time in ns and the value from then on; ascending
};

/// Something that the recording knows it missed, and how often.
struct Loss {
  std::string what;
  int64_t count = 0;
};

/// One form for everything that is simulated, measured or imported.
struct Trace {
  std::vector<std::pair<std::string, std::string>> meta;  ///< keys such as "source", "config" and "system", in order
  Strings strings;
  Stacks stacks;
  std::vector<Device> devices;
  std::vector<Track> tracks;
  std::vector<Span> spans;
  std::vector<Allocation> allocations;
  std::vector<Counter> counters;
  std::vector<Loss> losses;
};

/// The only way from a Plan to a Trace. The Steps run one after the other, each for its time in `stepNs`. The Trace has
/// one planned track, with a span for each Step and an allocation for each buffer that owns storage and is not
/// external. The output and the gradients are never freed.
Trace makeTrace(const Plan& plan, std::span<const int64_t> stepNs);

/// Bytes over time of the allocations of one track. An allocation counts from allocNs until just before freeNs, so
/// frees come before allocations of the same instant.
class MemoryCurve {
 public:
  struct Point {
    int64_t timeNs = 0;
    int64_t bytes = 0;  ///< from this time to the next point
  };

  MemoryCurve(const Trace& trace, TrackId track);

  /// One point for each instant at which something changed, ascending in time.
  std::span<const Point> points() const { return points_; }
  /// The first instant with the most bytes; zero for an empty track.
  Point peak() const;
  int64_t bytesAt(int64_t timeNs) const;
  /// Indices of the allocations alive at `timeNs` in Trace::allocations, largest first.
  std::vector<size_t> liveAt(int64_t timeNs) const;

 private:
  const Trace* trace_;
  TrackId track_;
  std::vector<Point> points_;
};

}  // namespace moeblaze
