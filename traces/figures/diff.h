#pragma once

#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// Two traces side by side, each by one track of allocations.
struct TraceDiff {
  /// What is alive at the peak under one role or name.
  struct Live {
    std::string what;
    int64_t aBytes = 0, bBytes = 0;
  };
  /// A large allocation of either, in the order they were made; both where size and order agree.
  struct Pair {
    std::string aName, bName;  ///< empty where the other has none
    int64_t aBytes = 0, bBytes = 0;
    int64_t aLifeNs = 0, bLifeNs = 0;  ///< kNever: never freed
  };
  /// A Step, or another span, by its name.
  struct Time {
    std::string name;
    int64_t aNs = 0, bNs = 0;
  };

  int64_t aPeak = 0, bPeak = 0;
  int64_t aReserved = 0, bReserved = 0;  ///< peaks of the devices' segments; 0 where not known
  std::vector<Live> byRole, byName;      ///< most different first
  std::vector<Pair> large;
  int64_t largeBytes = 0;   ///< allocations of at least this many bytes are large
  std::vector<Time> times;  ///< most different first
};

/// Large allocations are those of at least a thousandth of the higher peak, the largest few thousand of them; they are
/// aligned by size as texts are by lines (longest common subsequence).
TraceDiff diffTraces(const Trace& a, TrackId aTrack, const Trace& b, TrackId bTrack);

}  // namespace moeblaze
