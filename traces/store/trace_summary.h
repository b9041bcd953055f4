#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/trace/trace.h"

namespace moeblaze {

/// What the index of a file tells of one track.
struct TrackSummary {
  Track track;
  int64_t allocations = 0, frees = 0, spans = 0;
  MemoryCurve::Point peak;  ///< the same as MemoryCurve::peak(); zero without allocations
  int64_t liveBytes = 0;    ///< not freed at the end
};

/// What a file holds, found without unpacking all of it.
struct TraceSummary {
  std::vector<TrackSummary> tracks;
  std::vector<Loss> losses;
  int64_t events = 0;  ///< allocations and frees
  int64_t spans = 0, points = 0;
  int64_t startNs = 0, endNs = 0;  ///< the first and last time of anything in the file; both 0 when nothing has a time
  bool finished = false;           ///< false while the file is being recorded, and after its program was killed
};

/// Reads the index of a trace file. It unpacks columns only where chunks of a track overlap in time and could hold the
/// track's peak. Throws InputError as readTrace does.
TraceSummary summarize(const std::string& path);

}  // namespace moeblaze
