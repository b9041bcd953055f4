#pragma once

#include <string>
#include <string_view>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// What a file is, told by its first bytes and, for databases, by their tables.
enum class FileKind : uint8_t { mbtrace, torchSnapshot, kineto, nsight };
std::string_view name(FileKind kind);

/// Throws InputError naming the file when it is none of them, and what is read.
FileKind kindOf(const std::string& path);

/// Reads any of them. Throws InputError naming the file, and Interrupted when `progress` stops it.
Trace openTrace(const std::string& path, const ReadProgress& progress = {});

}  // namespace moeblaze
