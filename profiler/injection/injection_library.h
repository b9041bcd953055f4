#pragma once

#include <string>

namespace moeblaze::profiler {

/// The library that `record` puts into programs, found beside this program. Throws DeviceError when this build has
/// none.
std::string injectionLibrary();

/// Where this build found CUPTI; empty in builds without it.
std::string cuptiHint();

}  // namespace moeblaze::profiler
