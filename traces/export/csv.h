#pragma once

#include <iosfwd>

#include "core/trace/trace.h"

namespace moeblaze {

/// Writes a header line, then one line for each allocation with all its fields, as RFC 4180 says. Times are in ns and
/// empty where never; sizes are in bytes; the address is written as 0x...; the stack as "function (file:line); ...",
/// innermost frame first. Errors are left in the state of `out`.
void exportCsv(const Trace& trace, std::ostream& out);

}  // namespace moeblaze
