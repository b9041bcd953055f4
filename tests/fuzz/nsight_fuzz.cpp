#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/error.h"
#include "traces/export/chrome.h"
#include "traces/import/nsight/nsight.h"

/// Reads the bytes as an Nsight Systems database and exports what was read. Only InputError may be thrown.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string path = "/dev/shm/nsight_fuzz_" + std::to_string(getpid()) + ".sqlite";
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  try {
    const moeblaze::Trace trace = moeblaze::importNsight(path);
    std::ostringstream out;
    moeblaze::exportChrome(trace, out);
  } catch (const moeblaze::InputError&) {
  }
  unlink(path.c_str());
  return 0;
}
