#pragma once

#include <string_view>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// A PyTorch memory snapshot (torch.cuda.memory._dump_snapshot), as pickle or as the same in JSON. Each device gets an
/// observed track with one allocation a block, as PyTorch's own counters count it, and a track of its segments. Times
/// follow the events' order strictly: equal ones are a nanosecond apart. What the recording lacks or contradicts is in
/// the losses. `source` stands for the file in errors; throws InputError for anything else.
Trace importTorchSnapshot(std::string_view bytes, std::string_view source, const ReadProgress& progress = {});

}  // namespace moeblaze
