#pragma once

#include <string>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// A SQLite export of Nsight Systems (`nsys export --type sqlite`). CUDA memory events become allocations on one
/// observed track per device and kind of memory, memory pools counters, kernels, copies, memsets and NVTX ranges spans.
/// Further processes than the first are named in their tracks. Times start at the first event. Tables that are missing
/// are skipped; rows and tables that cannot be used are counted as losses. Throws InputError for a file that is no such
/// export.
Trace importNsight(const std::string& path, const ReadProgress& progress = {});

}  // namespace moeblaze
