#pragma once

#include <string_view>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// A trace of PyTorch's profiler (Kineto's Chrome JSON, gzip or not). `[memory]` events become allocations and
/// counters on one observed track per device; kernels, copies, memsets, annotations and CPU operators become spans on
/// tracks named by what they are. Times start at the first of them. What does not fit is counted as a loss. Throws
/// InputError naming `source` for what is not such a file.
Trace importKineto(std::string_view bytes, std::string_view source, const ReadProgress& progress = {});

}  // namespace moeblaze
