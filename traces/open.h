#pragma once

#include <string>
#include <string_view>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"
#include "traces/import/file_kind.h"

namespace moeblaze {

/// The name of the project's own kind of file.
inline constexpr std::string_view kMbtrace = "mbtrace";

/// The kind of a file, told by its first bytes and, for databases, by what SQLite finds in it. Throws InputError naming
/// the file and the kinds that are read when it is none of them.
const FileKind& kindOf(const std::string& path);

/// Reads a file of any kind. Throws InputError naming the file when it is of no kind that is read, is damaged, or holds
/// what a trace file could not store (trace_limits.h), and Interrupted when `progress` stops it.
Trace openTrace(const std::string& path, const ReadProgress& progress = {});

}  // namespace moeblaze
