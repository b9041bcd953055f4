#pragma once

#include <cupti.h>

#include <optional>

#include "profiler/cupti/events.h"

namespace moeblaze::profiler {

/// One of CUPTI's activity records as an event; nothing for kinds that are of no use. Records of work whose times CUPTI
/// could not fill become LostEvents. What CUPTI says is the caller's to free is freed.
std::optional<Event> decode(const CUpti_Activity& record);

}  // namespace moeblaze::profiler
