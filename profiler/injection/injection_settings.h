#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace moeblaze::profiler {

/// What the launching program tells the injected library in a recorded process. Environment variables carry it.
struct InjectionSettings {
  std::string file;  ///< the trace of the process `pid`; empty: nothing is recorded
  int32_t pid = 0;
  std::string statusFile;   ///< the file of a StatusPage; empty: nobody watches
  std::string cupti;        ///< the hint for loadCupti
  bool memoryOnly = false;  ///< record memory and NVTX ranges only

  /// These settings as "NAME=value" texts. CUDA and NVTX will load `library`.
  std::vector<std::string> toEnvironment(const std::string& library) const;
  /// Reads the settings. `get` returns the value of a variable, or null when it is not set. Returns false when nothing
  /// is to be recorded.
  static bool fromEnvironment(const std::function<const char*(const char* name)>& get, InjectionSettings& settings);
  /// The trace of process `of`: `file` for the process `pid`, and for others `file` with their number in it.
  std::string fileOf(int32_t of) const;
};

/// `file` with `number` before its extension: run.mbtrace becomes run.1234.mbtrace.
std::string numberedFile(const std::string& file, int32_t number);

}  // namespace moeblaze::profiler
