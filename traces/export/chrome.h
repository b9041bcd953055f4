#pragma once

#include <iosfwd>

#include "core/trace/trace.h"

namespace moeblaze {

/// Writes `trace` as Chrome's JSON, which Perfetto reads too, without holding it in memory. A process a device, a
/// thread a track; spans are complete events, every allocation is a pair of async events with its fields as arguments
/// (an "e" only where it was freed), each track's bytes over time and every counter are counter events. Times keep
/// their ns. Meta and losses are under "otherData". Errors are the stream's state.
void exportChrome(const Trace& trace, std::ostream& out);

}  // namespace moeblaze
