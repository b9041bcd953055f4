#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

namespace moeblaze::profiler {

/// A stream of a process.
using StreamKey = std::pair<uint32_t, uint32_t>;  ///< context, stream

/// Dates calls that take effect in a stream's order, such as cudaFreeAsync: at the end of the work enqueued before
/// them, or when they were made if that came later. Calls and work are told apart by their numbers, which CUPTI gives
/// in the order of the calls; work is reported only once it ended, so calls wait until work after them was.
class StreamOrder {
 public:
  /// Receives a call's time, ns; calls of a stream in their order.
  using Dated = std::function<void(int64_t timeNs)>;

  void addWork(StreamKey stream, uint32_t correlation, int64_t endNs);
  /// A call made at `timeNs`; those of a stream come in the order they were made.
  void addCall(StreamKey stream, uint32_t correlation, int64_t timeNs, Dated dated);
  /// Dates the calls that work after them was seen of, and those made before `givenUpNs` by what is known: their stream
  /// may never be used again. All calls made before `toldNs` have been told.
  void settle(int64_t givenUpNs, int64_t toldNs);
  /// Calls dated before their stream's earlier work was known to end.
  int64_t misdated() const { return misdated_; }

 private:
  struct Call {
    uint64_t number = 0;
    int64_t timeNs = 0;
    Dated dated;
  };
  struct Stream {
    uint64_t latest = 0;  ///< number last seen; numbers have 32 bits and start over
    uint64_t latestWork = 0;
    uint64_t givenUp = 0;                   ///< number of the last call dated
    int64_t doneNs = 0;                     ///< end of all work that calls were compared with
    std::multimap<uint64_t, int64_t> ends;  ///< of other work, by number
    std::deque<Call> calls;
  };
  static uint64_t numberOf(Stream& stream, uint32_t correlation);
  static int64_t timeOf(Stream& stream, const Call& call);

  std::map<StreamKey, Stream> streams_;
  int64_t misdated_ = 0;
};

}  // namespace moeblaze::profiler
