#pragma once

#include <string>
#include <vector>

#include "core/command/command_options.h"

namespace moeblaze::profiler {

/// One thing that profiling needs.
struct Check {
  std::string what;
  bool works = false;
  std::string found;
  std::string remedy;  ///< empty when it works
};

/// GPUs, CUPTI, and a recording tried out: an allocation and a kernel that must come back from CUPTI.
std::vector<Check> gpuChecks();

}  // namespace moeblaze::profiler
