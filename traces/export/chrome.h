#pragma once

#include <iosfwd>

#include "core/trace/trace.h"

namespace moeblaze {

/// Writes `trace` as Chrome's JSON, which Perfetto reads too, without holding the text in memory. Each device is a
/// process and each track a thread. Spans are complete events. Every allocation is a pair of async events with its
/// fields as arguments; the "e" is missing where it was not freed. The bytes of each track over time and all counters
/// are counter events. Times are in µs with three decimals, which keep the ns. Meta and losses are under "otherData".
/// Errors are left in the state of `out`.
void exportChrome(const Trace& trace, std::ostream& out);

}  // namespace moeblaze
