#pragma once

#include <string_view>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// Imports a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot), as a pickle or as the same data in JSON. Each
/// device gets an observed track with one allocation for each block, as PyTorch's own counters count it, and a track of
/// its segments. Times follow the order of events strictly: events of equal time are put 1 ns apart. What the recording
/// lacks or contradicts is in the losses. `source` stands for the file in errors. Throws InputError for anything else.
Trace importTorchSnapshot(std::string_view bytes, std::string_view source, const ReadProgress& progress = {});

}  // namespace moeblaze
