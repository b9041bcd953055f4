#include "profiler/injection/injection_library.h"

#include <filesystem>

#include "core/base/error.h"
#include "version.h"

namespace moeblaze::profiler {

std::string injectionLibrary() {
#ifdef MOEBLAZE_INJECTION
  std::error_code failed;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failed).parent_path();
  for (const auto& folder : {program, program / "../lib"}) {
    const auto library = folder / MOEBLAZE_INJECTION;
    if (std::filesystem::exists(library, failed)) return std::filesystem::canonical(library).string();
  }
  throw DeviceError(std::string(MOEBLAZE_INJECTION) + " is not beside this program or in ../lib; build again");
#else
  throw DeviceError(std::string("this build cannot record programs (CUDA toolkit: ") + kCudaFound +
                    "; CUPTI: " + kCuptiFound + "; builds with sanitizers cannot either)");
#endif
}

std::string cuptiHint() {
#ifdef MOEBLAZE_CUPTI_LIBRARY
  return MOEBLAZE_CUPTI_LIBRARY;
#else
  return {};
#endif
}

}  // namespace moeblaze::profiler
