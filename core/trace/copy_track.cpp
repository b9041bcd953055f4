#include "core/trace/copy_track.h"

#include <algorithm>
#include <vector>

namespace moeblaze {
namespace {

StackId copyStack(const Trace& from, StackId stack, Trace& to) {
  std::vector<Frame> frames;
  for (const Frame& frame : from.stacks[stack])
    frames.push_back(
        {to.strings.add(from.strings[frame.function]), to.strings.add(from.strings[frame.file]), frame.line});
  return to.stacks.add(std::move(frames));
}

}  // namespace

void copyTrack(const Trace& from, TrackId fromTrack, Trace& to, TrackId toTrack, int64_t shiftNs, int64_t openEndNs) {
  const auto shifted = [shiftNs](int64_t timeNs, int64_t never) { return timeNs == kNever ? never : timeNs + shiftNs; };
  for (Span span : from.spans) {
    if (span.track != fromTrack) continue;
    span.track = toTrack;
    span.name = to.strings.add(from.strings[span.name]);
    span.startNs += shiftNs;
    to.spans.push_back(span);
  }
  for (Allocation allocation : from.allocations) {
    if (allocation.track != fromTrack) continue;
    allocation.track = toTrack;
    allocation.name = to.strings.add(from.strings[allocation.name]);
    allocation.stack = copyStack(from, allocation.stack, to);
    allocation.allocNs += shiftNs;
    allocation.freeNs = shifted(allocation.freeNs, openEndNs);
    allocation.freeRequestedNs = shifted(allocation.freeRequestedNs, kNever);
    to.allocations.push_back(allocation);
  }
}

int64_t lastSpanEndNs(const Trace& trace, TrackId track) {
  int64_t endNs = 0;
  for (const Span& span : trace.spans)
    if (span.track == track) endNs = std::max(endNs, span.startNs + span.durationNs);
  return endNs;
}

}  // namespace moeblaze
