#pragma once

#include <optional>
#include <string_view>

#include "profiler/recording/trace_sink.h"

namespace moeblaze::profiler {

/// Writes the trace of a program whose length nobody knows. What exceeds the limits of a trace file is left out and
/// counted, and the rest is still recorded.
class BoundedWriter {
 public:
  /// The most that one trace takes.
  struct Limits {
    int64_t allocations = (int64_t{1} << 26) - 1, spans = (int64_t{1} << 26) - 1;
    size_t tracks = 4096;
    size_t textBytes = 1 << 16;
  };

  /// `sink` must outlive this.
  explicit BoundedWriter(TraceSink& sink) : BoundedWriter(sink, Limits()) {}
  BoundedWriter(TraceSink& sink, Limits limits) : sink_(sink), limits_(limits) {}

  /// Returns nothing when the trace is full.
  std::optional<AllocationId> addAllocation(const Allocation& allocation) {
    if (allocations_ == limits_.allocations) return ++lostAllocations_, std::nullopt;
    ++allocations_;
    return sink_.addAllocation(allocation);
  }
  void addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) { sink_.addFree(id, freeNs, freeRequestedNs); }
  void addSpan(const Span& span) {
    if (spans_ == limits_.spans) {
      ++lostSpans_;
    } else {
      ++spans_;
      sink_.addSpan(span);
    }
  }
  /// False when a further stream or thread has to use a track that it shares with others.
  bool hasRoomForTracks() const { return tracks_ < limits_.tracks; }
  TrackId addTrack(const Track& track) {
    ++tracks_;
    return sink_.addTrack(track);
  }
  /// Keeps only the beginning of a text that is too long.
  StringId addString(std::string_view text) { return sink_.addString(text.substr(0, limits_.textBytes)); }
  /// For what has no limit here.
  TraceSink& sink() { return sink_; }

  int64_t lostAllocations() const { return lostAllocations_; }
  int64_t lostSpans() const { return lostSpans_; }

 private:
  TraceSink& sink_;
  Limits limits_;
  int64_t allocations_ = 0, spans_ = 0, lostAllocations_ = 0, lostSpans_ = 0;
  size_t tracks_ = 0;
};

}  // namespace moeblaze::profiler
