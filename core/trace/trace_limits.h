#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "core/trace/trace.h"

/// What a Trace may hold. Importers and trace files share these limits, so that every trace that can be read can also
/// be stored. Within them all sums and differences of times, and all sums of a track's bytes, stay within int64.
namespace moeblaze {

/// Largest distance of a time from the start of a trace, in either direction, and longest duration of a span: 73 years.
inline constexpr int64_t kMaxTimeNs = int64_t{1} << 61;
/// Most bytes of one allocation.
inline constexpr int64_t kMaxAllocationBytes = int64_t{1} << 60;
/// Most bytes of all allocations of one track together, whether or not they are alive at the same time.
inline constexpr int64_t kMaxTrackBytes = int64_t{1} << 61;
/// Most allocations, most spans, and most points of all counters together.
inline constexpr int64_t kMaxTraceRows = int64_t{1} << 26;
/// Most devices, most tracks, and most counters.
inline constexpr size_t kMaxTracks = size_t{1} << 16;
/// Most different losses. Each new one is compared with all others.
inline constexpr size_t kMaxLosses = 4096;
/// Longest text.
inline constexpr size_t kMaxTextBytes = size_t{8} << 20;
/// Most frames of one call stack. A trace file stores a frame as 4 bytes, and a stack as one value.
inline constexpr size_t kMaxStackFrames = kMaxTextBytes / 4;

/// How many tracks, texts and stacks exist, so that ids which refer to them can be checked.
struct IdCounts {
  size_t tracks = 0, strings = 0, stacks = 0;
};

/// Each of these throws InputError "<source>: ..." when the value is beyond a limit or refers to something that does
/// not exist. `what` names the value in the error.
void checkId(const std::string& source, const char* what, int64_t id, size_t count);
void checkTime(const std::string& source, const char* what, int64_t timeNs);
/// Checks everything but the allocation's end.
void checkAllocation(const std::string& source, const Allocation& allocation, const IdCounts& counts);
/// Checks the end of an allocation that began at `allocNs`. One of the two times must be known.
void checkFree(const std::string& source, int64_t allocNs, int64_t freeNs, int64_t freeRequestedNs);
void checkSpan(const std::string& source, const Span& span, const IdCounts& counts);
/// `before` is the counter's previous point, or null for its first one.
void checkPoint(const std::string& source, const std::pair<int64_t, double>& point,
                const std::pair<int64_t, double>* before);

/// Checks a whole trace with the functions above. Throws InputError naming `source`.
void checkTrace(const std::string& source, const Trace& trace);

}  // namespace moeblaze
