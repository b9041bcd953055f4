#pragma once

#include <string>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// Writes a whole trace to a temporary file beside `path`, then renames that. Losses of the same text are added up.
/// Throws InputError naming `path` when the file cannot be written or the trace is beyond a limit of trace_limits.h.
void writeTrace(const Trace& trace, const std::string& path);

/// Reads a whole trace. Of a recording that still goes on it reads what was flushed. Checks every id, size and checksum
/// and throws InputError naming `path` when one is wrong. `progress` is told of every chunk.
Trace readTrace(const std::string& path, const ReadProgress& progress = {});

/// Whether a file is a trace file. It must be an SQLite database; throws InputError when SQLite cannot open it.
bool isTraceFile(const std::string& path);

}  // namespace moeblaze
