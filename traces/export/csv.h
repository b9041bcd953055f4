#pragma once

#include <iosfwd>
#include <string>

#include "core/trace/trace.h"

namespace moeblaze {

/// Writes a header line and one line per allocation with all its fields (RFC 4180): times in ns, empty where never;
/// bytes as numbers; the address as 0x...; the stack as "function (file:line); ...", innermost first. Errors are the
/// stream's state.
void exportCsv(const Trace& trace, std::ostream& out);

/// Writes the whole trace as a SQLite file of ordinary tables, one row an allocation, span or point of a counter; texts
/// in place, NULL for never and none. Nothing half-written is left under `path`. Throws InputError.
void exportRows(const Trace& trace, const std::string& path);

}  // namespace moeblaze
