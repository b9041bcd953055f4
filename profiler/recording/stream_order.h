#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <utility>

namespace moeblaze::profiler {

/// A stream of a process: the numbers of its context and of the stream within it.
using StreamKey = std::pair<uint32_t, uint32_t>;

/// Dates calls that take effect in the order of their stream, such as cudaFreeAsync. Such a call takes effect when the
/// work enqueued before it has ended, or when it is made if that is later. Correlation numbers, which CUPTI assigns in
/// the order of the calls, tell which work was enqueued before a call. CUPTI reports work only once it has ended, so a
/// call waits until work enqueued after it is reported: then all work before it is known.
class StreamOrder {
 public:
  /// Receives the time at which a call took effect, ns. The calls of one stream are dated in their order.
  using Dated = std::function<void(int64_t timeNs)>;

  /// Work of `stream` ended at `endNs`. May be added in any order.
  void addWork(StreamKey stream, uint32_t correlation, int64_t endNs);
  /// A call was made at `timeNs`. The calls of one stream must be added in the order in which they were made.
  void addCall(StreamKey stream, uint32_t correlation, int64_t timeNs, Dated dated);
  /// Dates the calls for which later work of their stream was added. Also dates the calls made before `givenUpNs`, by
  /// the work that is known, because their stream may never be used again. All calls made before `toldNs` must have
  /// been added.
  void settle(int64_t givenUpNs, int64_t toldNs);
  /// How much work was added that should have delayed a call which was dated already.
  int64_t misdated() const { return misdated_; }

 private:
  struct Call {
    uint64_t number = 0;
    int64_t timeNs = 0;
    Dated dated;
  };
  struct Stream {
    uint64_t latest = 0;  ///< highest number seen; CUPTI's 32-bit numbers wrap around, these do not
    uint64_t latestWork = 0;
    uint64_t givenUp = 0;                   ///< highest number of a call that was dated
    int64_t doneNs = 0;                     ///< latest end of the work that is no longer in `ends`
    std::multimap<uint64_t, int64_t> ends;  ///< number of work → its end
    std::deque<Call> calls;                 ///< not dated yet
  };
  static uint64_t numberOf(Stream& stream, uint32_t correlation);
  static int64_t timeOf(Stream& stream, const Call& call);

  std::map<StreamKey, Stream> streams_;
  int64_t misdated_ = 0;
};

}  // namespace moeblaze::profiler
