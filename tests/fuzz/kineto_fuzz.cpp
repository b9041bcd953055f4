#include <cstddef>
#include <cstdint>
#include <sstream>

#include "core/base/error.h"
#include "traces/export/chrome.h"
#include "traces/import/kineto/kineto.h"

/// Reads the bytes as a Kineto trace and exports what was read. Only InputError may be thrown.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const moeblaze::Trace trace = moeblaze::importKineto({reinterpret_cast<const char*>(data), size}, "fuzz.json");
    std::ostringstream out;
    moeblaze::exportChrome(trace, out);
  } catch (const moeblaze::InputError&) {
  }
  return 0;
}
