#pragma once

#include <string_view>

#include "core/trace.h"
#include "traces/read_progress.h"

namespace moeblaze {

/// Meta keys of an imported snapshot: when it began (unix µs, as text), what its times count where the recording had
/// none, and PyTorch's allocator_settings as JSON.
inline constexpr std::string_view kMetaStartUs = "start_unix_us";
inline constexpr std::string_view kMetaClock = "clock";
inline constexpr std::string_view kMetaClockIndex = "event index";
inline constexpr std::string_view kMetaAllocatorSettings = "allocator_settings";

/// A PyTorch memory snapshot (torch.cuda.memory._dump_snapshot), as pickle or as the same in JSON. Each device gets an
/// observed track with one allocation a block, as PyTorch's own counters count it, and a track of its segments. Times
/// follow the events' order strictly: equal ones are a nanosecond apart. What the recording lacks or contradicts is in
/// the losses. `source` stands for the file in errors; throws InputError for anything else.
Trace importTorchSnapshot(std::string_view bytes, std::string_view source, const ReadProgress& progress = {});

}  // namespace moeblaze
