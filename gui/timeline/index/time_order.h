#pragma once

#include <cstdint>
#include <vector>

#include "gui/timeline/index/progress.h"

namespace moeblaze::gui {

/// Something that happened, by its index.
struct Timed {
  int64_t timeNs = 0;
  uint32_t index = 0;
};

/// Sorts by time, stably: at once where they are in order, else by radix.
void sortByTime(std::vector<Timed>& items, const Progress& progress = {});

}  // namespace moeblaze::gui
