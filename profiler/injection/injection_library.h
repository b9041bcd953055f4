#pragma once

#include <string>

namespace moeblaze::profiler {

/// The path of the library that `record` puts into programs. It lies beside this program or in ../lib. Throws
/// DeviceError when it is not there or this build has none.
std::string injectionLibrary();

/// The path at which this build found CUPTI; empty in a build without it.
std::string cuptiHint();

}  // namespace moeblaze::profiler
