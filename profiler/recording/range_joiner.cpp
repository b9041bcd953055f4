#include "profiler/recording/range_joiner.h"

#include <algorithm>

namespace moeblaze::profiler {
namespace {

/// Bounds the memory for ends without a start, in case a program ends ranges that it never began.
constexpr size_t kMaxEarlyEnds = 1 << 16;

}  // namespace

void RangeJoiner::write(const RangeEvent& start, int64_t endNs) {
  const std::string& domain = start.domain;
  const int64_t startNs = clock_.at(start.timeNs);
  writer_.addSpan({.track = tracks_.ranges(start.thread),
                   .name = writer_.addString(domain.empty() ? start.name : domain + ": " + start.name),
                   .startNs = startNs,
                   .durationNs = std::max<int64_t>(0, clock_.at(endNs) - startNs)});
}

void RangeJoiner::add(const RangeEvent& event) {
  switch (event.edge) {
    case RangeEdge::instant:
      return write(event, event.timeNs);
    case RangeEdge::start:
      if (const auto ended = endedEarly_.find(event.id); ended != endedEarly_.end()) {
        write(event, ended->second);
        endedEarly_.erase(ended);
      } else {
        open_[event.id] = event;
      }
      return;
    case RangeEdge::end:
      break;
  }
  if (const auto begun = open_.find(event.id); begun != open_.end()) {
    write(begun->second, event.timeNs);
    open_.erase(begun);
  } else if (endedEarly_.size() < kMaxEarlyEnds) {
    endedEarly_[event.id] = event.timeNs;
  }
}

void RangeJoiner::finish(int64_t endNs) {
  for (const auto& [id, start] : open_) write(start, std::max(endNs, start.timeNs));
  open_.clear();
}

}  // namespace moeblaze::profiler
