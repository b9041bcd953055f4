#pragma once

#include <string>

#include "core/trace/trace.h"

namespace moeblaze {

/// Returns the observed and segments tracks of `trace` as a PyTorch memory snapshot: a pickle that Python loads without
/// any module, and that PyTorch's memory_viz page shows. Events come in time order, in whole µs as the format wants.
/// Memory without an address gets one that nothing else has. A block outside every segment gets a segment of its own.
/// The host (negative devices) has no place in the format and is left out.
std::string exportMemoryViz(const Trace& trace);

}  // namespace moeblaze
