#pragma once

#include <optional>
#include <string_view>

#include "traces/store/store.h"

namespace moeblaze::profiler {

/// A TraceWriter for a program nobody knows the length of: what a file does not hold is left out and counted, and the
/// rest is recorded on.
class BoundedWriter {
 public:
  struct Limits {
    int64_t allocations = (int64_t{1} << 26) - 1, spans = (int64_t{1} << 26) - 1;
    size_t tracks = 4096;
    size_t textBytes = 1 << 16;
  };

  explicit BoundedWriter(TraceWriter& writer) : BoundedWriter(writer, Limits()) {}
  BoundedWriter(TraceWriter& writer, Limits limits) : writer_(writer), limits_(limits) {}

  /// Nothing when the file is full.
  std::optional<AllocationId> addAllocation(const Allocation& allocation) {
    if (allocations_ == limits_.allocations) return ++lostAllocations_, std::nullopt;
    ++allocations_;
    return writer_.addAllocation(allocation);
  }
  void addFree(AllocationId id, int64_t freeNs, int64_t freeRequestedNs) {
    writer_.addFree(id, freeNs, freeRequestedNs);
  }
  void addSpan(const Span& span) {
    if (spans_ == limits_.spans) {
      ++lostSpans_;
    } else {
      ++spans_;
      writer_.addSpan(span);
    }
  }
  /// Whether there is room for tracks beside those that things are put on together.
  bool hasRoomForTracks() const { return tracks_ < limits_.tracks; }
  TrackId addTrack(const Track& track) {
    ++tracks_;
    return writer_.addTrack(track);
  }
  /// Of an overlong text the beginning.
  StringId addString(std::string_view text) { return writer_.addString(text.substr(0, limits_.textBytes)); }
  TraceWriter& writer() { return writer_; }

  int64_t lostAllocations() const { return lostAllocations_; }
  int64_t lostSpans() const { return lostSpans_; }

 private:
  TraceWriter& writer_;
  Limits limits_;
  int64_t allocations_ = 0, spans_ = 0, lostAllocations_ = 0, lostSpans_ = 0;
  size_t tracks_ = 0;
};

}  // namespace moeblaze::profiler
