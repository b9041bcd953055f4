#pragma once

#include <cupti.h>

#include <optional>

#include "profiler/cupti/events.h"

namespace moeblaze::profiler {

/// Turns one of CUPTI's activity records into an event; nothing for the kinds that no trace shows. Memory without a
/// time and work without times become LostEvents. Frees the strings and data that CUPTI leaves to its caller to free.
std::optional<Event> decode(const CUpti_Activity& record);

}  // namespace moeblaze::profiler
