#pragma once

#include <string>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// Imports an SQLite export of Nsight Systems (`nsys export --type sqlite`). CUDA memory events become allocations on
/// one observed track for each device and kind of memory. Memory pools become counters. Kernels, copies, memsets and
/// NVTX ranges become spans. Tracks of all processes but the first name their process. Times count from the first
/// event. Tables that are missing are skipped; rows and tables that cannot be used are counted as losses. Throws
/// InputError for a file that is no such export.
Trace importNsight(const std::string& path, const ReadProgress& progress = {});

}  // namespace moeblaze
