#pragma once

#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// Two traces, a and b, side by side. Each is represented by one track of allocations.
struct TraceDiff {
  /// The bytes alive at the peak under one role or one name.
  struct Live {
    std::string what;
    int64_t aBytes = 0, bBytes = 0;
  };
  /// A large allocation. It is that of both traces where size and order agree, and that of one trace elsewhere.
  struct Pair {
    std::string aName, bName;  ///< empty for a trace that does not have it
    int64_t aBytes = 0, bBytes = 0;
    int64_t aLifeNs = 0, bLifeNs = 0;  ///< kNever when it is never freed
  };
  /// The time of all spans of one name, such as a Step.
  struct Time {
    std::string name;
    int64_t aNs = 0, bNs = 0;
  };

  int64_t aPeak = 0, bPeak = 0;
  int64_t aReserved = 0, bReserved = 0;  ///< peaks of the devices' segments; 0 where not known
  std::vector<Live> byRole, byName;      ///< the largest difference first
  std::vector<Pair> large;               ///< in the order in which they were allocated
  int64_t largeBytes = 0;                ///< allocations of at least this many bytes are large
  std::vector<Time> times;               ///< the largest difference first
};

/// Compares two traces. Large allocations are those of at least a thousandth of the higher peak, but only the 3,000
/// largest of a trace. They are aligned by size as texts are aligned by lines (longest common subsequence).
TraceDiff diffTraces(const Trace& a, TrackId aTrack, const Trace& b, TrackId bTrack);

}  // namespace moeblaze
