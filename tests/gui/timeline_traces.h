#pragma once

#include <memory>
#include <random>

#include "core/trace/trace.h"

/// Traces for the timeline's tests.
namespace moeblaze::gui {

inline constexpr TrackId kTrack{0};

/// Random allocations, some at the same instant, some never freed, some of no duration, and some at negative times.
/// They are `spreadNs` apart on average; `bursty` ones come in bursts of 200 at one place. Every tenth one is on
/// another track.
inline std::shared_ptr<const Trace> randomTrace(uint32_t seed, size_t count, int64_t spreadNs, bool bursty) {
  std::mt19937 random(seed);
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % static_cast<uint64_t>(bound)); };
  auto trace = std::make_shared<Trace>();
  trace->tracks = {{"one", TrackKind::observed}, {"other", TrackKind::observed}};
  for (int i = 0; i < 20; ++i) trace->strings.add("name " + std::to_string(i));
  const int64_t range = static_cast<int64_t>(count) * spreadNs + 1;
  int64_t burst = 0;
  for (size_t i = 0; i < count; ++i) {
    if (i % 200 == 0) burst = below(range);
    Allocation allocation;
    allocation.track = static_cast<TrackId>(below(10) == 0);
    allocation.name = static_cast<StringId>(1 + below(20));
    allocation.role = static_cast<Role>(below(9));
    allocation.bytes = below(1000);
    allocation.allocNs = (bursty ? burst + below(5) : below(range)) - range / 3;
    const int64_t life = below(10) < 8 ? below(10 * spreadNs) : below(range);
    if (below(20) != 0) allocation.freeNs = allocation.allocNs + life;
    allocation.address = static_cast<uint64_t>(1 + below(1000)) << 12;
    trace->allocations.push_back(allocation);
  }
  return trace;
}

}  // namespace moeblaze::gui
