#include "traces/import/torch/torch_segments.h"

#include <algorithm>
#include <vector>

namespace moeblaze {
namespace {

uint64_t endOf(uint64_t address, int64_t bytes) { return address + static_cast<uint64_t>(bytes); }

uint64_t bytesIn(const std::vector<RangeMap::Range>& parts) {
  uint64_t bytes = 0;
  for (const RangeMap::Range& part : parts) bytes += part.end - part.begin;
  return bytes;
}

// Values of mapped_: only expandable segments are joined into one range.
constexpr size_t kFixed = 0, kExpandable = 1;

}  // namespace

TorchSegments::TorchSegments(const TorchDevice& device, TrackId track, TraceImport& import)
    : track_(track), import_(import) {
  // A value is 1 + the index of the segment, or 0 for memory that only an event tells of.
  RangeMap ranges;
  for (size_t i = 0; i < device.segments.size(); ++i) {
    const TorchSegment& segment = device.segments[i];
    const uint64_t end = endOf(segment.address, segment.bytes);
    if (!ranges.cut(segment.address, end).empty()) import_.lose("segments that overlap others");
    ranges.add({segment.address, end, i + 1});
  }
  for (size_t i = device.events.size(); i-- > 0;) {
    const TorchEvent& event = device.events[i];
    if (!event.isSegment()) continue;
    const uint64_t end = endOf(event.address, event.bytes);
    const std::vector<RangeMap::Range> parts = ranges.cut(event.address, end);
    if (event.takes() && bytesIn(parts) != end - event.address && !device.segments.empty()) {
      import_.lose("segments taken, but neither given back nor held at the end");
    }
    if (event.gives()) ranges.add({event.address, end, 0});
  }
  const bool isExpandable = std::ranges::any_of(device.segments, &TorchSegment::expandable);
  for (const RangeMap::Range& range : ranges.all()) {
    Allocation older{.track = track, .older = true, .bytes = static_cast<int64_t>(range.end - range.begin)};
    older.address = range.begin;
    if (range.value > 0) {
      const TorchSegment& segment = device.segments[range.value - 1];
      older.stack = segment.stack;
      older.stream = segment.stream;
      older.name = import_.nameOf(segment.stack);
    }
    pieces_.add({range.begin, range.end, import_.add(older)});
    if (range.value > 0 ? device.segments[range.value - 1].expandable : isExpandable) {
      mapped_.addMerged({range.begin, range.end, kExpandable});
    } else {
      mapped_.add({range.begin, range.end, kFixed});
    }
  }
}

const RangeMap& TorchSegments::apply(const TorchEvent& event, int64_t timeNs) {
  if (event.isSegment() && event.takes()) {
    take(event, timeNs);
  } else if (event.isSegment()) {
    give(event.address, endOf(event.address, event.bytes), timeNs);
  }
  return mapped_;
}

void TorchSegments::take(const TorchEvent& event, int64_t timeNs) {
  const uint64_t end = endOf(event.address, event.bytes);
  const std::vector<RangeMap::Range> mapped = mapped_.cut(event.address, end);
  if (!mapped.empty()) {
    import_.lose("segments taken where one was held already");
    give(event.address, end, timeNs);
  }
  const size_t index = import_.add({.track = track_,
                                    .name = import_.nameOf(event.stack),
                                    .bytes = event.bytes,
                                    .allocNs = timeNs,
                                    .stack = event.stack,
                                    .address = event.address,
                                    .stream = event.stream});
  pieces_.add({event.address, end, index});
  if (event.action == TorchAction::segmentMap) {
    mapped_.addMerged({event.address, end, kExpandable});
  } else {
    mapped_.add({event.address, end, kFixed});
  }
}

void TorchSegments::give(uint64_t begin, uint64_t end, int64_t timeNs) {
  const std::vector<RangeMap::Range> parts = pieces_.cut(begin, end);
  mapped_.cut(begin, end);
  for (const RangeMap::Range& part : parts) {
    Allocation& whole = import_.trace().allocations[part.value];
    const uint64_t wholeEnd = endOf(whole.address, whole.bytes);
    const Allocation before = whole;
    whole.address = part.begin;
    whole.bytes = static_cast<int64_t>(part.end - part.begin);
    whole.freeNs = timeNs;
    // What stays of a segment that is given back in part becomes an allocation of its own, so the bytes of all
    // allocations together stay the same.
    const auto keep = [&](uint64_t from, uint64_t to) {
      if (from >= to) return;
      Allocation rest = before;
      rest.address = from;
      rest.bytes = static_cast<int64_t>(to - from);
      pieces_.cut(from, to);
      import_.trace().allocations.push_back(rest);
      pieces_.add({from, to, import_.trace().allocations.size() - 1});
    };
    keep(before.address, part.begin);
    keep(part.end, wholeEnd);
  }
  if (bytesIn(parts) != end - begin) import_.lose("segments given back that were not held");
}

}  // namespace moeblaze
