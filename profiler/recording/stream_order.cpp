#include "profiler/recording/stream_order.h"

#include <algorithm>

namespace moeblaze::profiler {

/// Extends a 32-bit number to 64 bits: of all numbers that end in these 32 bits, the one nearest to the latest number.
uint64_t StreamOrder::numberOf(Stream& stream, uint32_t correlation) {
  constexpr uint64_t kBase = uint64_t{1} << 32;  // so that numbers lower than the first one are not negative
  if (stream.latest == 0) stream.latest = kBase + correlation;
  const auto distance = static_cast<int32_t>(correlation - static_cast<uint32_t>(stream.latest));
  const uint64_t number = stream.latest + static_cast<uint64_t>(static_cast<int64_t>(distance));
  stream.latest = std::max(stream.latest, number);
  return number;
}

void StreamOrder::addWork(StreamKey key, uint32_t correlation, int64_t endNs) {
  Stream& stream = streams_[key];
  const uint64_t number = numberOf(stream, correlation);
  if (number <= stream.givenUp && endNs > stream.doneNs) ++misdated_;
  stream.ends.emplace(number, endNs);
  stream.latestWork = std::max(stream.latestWork, number);
}

void StreamOrder::addCall(StreamKey key, uint32_t correlation, int64_t timeNs, Dated dated) {
  Stream& stream = streams_[key];
  stream.calls.push_back({numberOf(stream, correlation), timeNs, std::move(dated)});
}

int64_t StreamOrder::timeOf(Stream& stream, const Call& call) {
  // CUPTI gives a free the number of the call before it. So work with the call's own number was enqueued before the
  // call.
  const auto after = stream.ends.upper_bound(call.number);
  for (auto it = stream.ends.begin(); it != after; ++it) stream.doneNs = std::max(stream.doneNs, it->second);
  stream.ends.erase(stream.ends.begin(), after);
  return std::max(call.timeNs, stream.doneNs);
}

void StreamOrder::settle(int64_t givenUpNs, int64_t toldNs) {
  for (auto& [key, stream] : streams_) {
    while (!stream.calls.empty()) {
      const Call& call = stream.calls.front();
      const bool known = stream.latestWork > call.number;
      if (!known && call.timeNs >= givenUpNs) break;
      stream.givenUp = std::max(stream.givenUp, call.number);
      const int64_t timeNs = timeOf(stream, call);
      const Dated dated = std::move(stream.calls.front().dated);
      stream.calls.pop_front();
      dated(timeNs);
    }
    // Calls that are still to come were made after `toldNs`, so work that ended before then cannot delay them. It is
    // forgotten, so that memory does not grow with the length of the program.
    if (stream.calls.empty())
      std::erase_if(stream.ends, [&](const auto& work) {
        if (work.second >= toldNs) return false;
        stream.doneNs = std::max(stream.doneNs, work.second);
        return true;
      });
  }
}

}  // namespace moeblaze::profiler
