#pragma once

#include <string>
#include <vector>

#include "core/command/command_options.h"

// doctor_gpu.cpp implements gpuChecks. A build without CUPTI has doctor_gpu_absent.cpp instead, in which it reports
// that CUPTI is missing.
namespace moeblaze::profiler {

/// Whether one thing that profiling needs works here.
struct Check {
  std::string what;
  bool works = false;
  std::string found;   ///< what is there, or why it does not work
  std::string remedy;  ///< empty when it works
};

/// Checks the GPUs and CUPTI and tries a recording out: CUPTI must report an allocation, a set and a free.
std::vector<Check> gpuChecks();

}  // namespace moeblaze::profiler
