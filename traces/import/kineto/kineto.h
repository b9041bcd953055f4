#pragma once

#include <string_view>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// Imports a trace of PyTorch's profiler: Kineto's Chrome JSON, compressed with gzip or not. `[memory]` events become
/// allocations and counters on one observed track for each device. Kernels, copies, memsets, annotations and CPU
/// operators become spans on tracks that are named after them. Times count from the first of all events. What does not
/// fit is counted as a loss. Throws InputError naming `source` for anything but such a file.
Trace importKineto(std::string_view bytes, std::string_view source, const ReadProgress& progress = {});

}  // namespace moeblaze
