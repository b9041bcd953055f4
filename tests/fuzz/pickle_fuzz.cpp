#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/error.h"
#include "core/trace/trace.h"
#include "traces/export/memory_viz.h"
#include "traces/import/torch/torch_snapshot.h"

/// Reads the bytes as a PyTorch memory snapshot. What can be read must have memory curves and survive being written and
/// read again. Only InputError may be thrown.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moeblaze;
  Trace trace;
  try {
    trace = importTorchSnapshot({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const InputError&) {
    return 0;
  }
  for (size_t i = 0; i < trace.tracks.size(); ++i) MemoryCurve(trace, static_cast<TrackId>(i)).peak();
  try {
    importTorchSnapshot(exportMemoryViz(trace), "written again");
  } catch (const InputError&) {
    // What was written may be beyond a limit: events of one instant are put apart, which can move a time too far.
  }
  return 0;
}
