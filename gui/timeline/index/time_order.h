#pragma once

#include <cstdint>
#include <vector>

#include "gui/timeline/index/progress.h"

namespace moeblaze::gui {

/// The time of something, and its index.
struct Timed {
  int64_t timeNs = 0;
  uint32_t index = 0;
};

/// Sorts stably by time. Does nothing if the items are in order; uses a radix sort for many of them.
void sortByTime(std::vector<Timed>& items, const Progress& progress = {});

}  // namespace moeblaze::gui
