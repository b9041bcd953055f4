#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace moeblaze::profiler {

/// What the launching program tells the library inside a recorded process, through the environment.
struct InjectionSettings {
  std::string file;  ///< trace of the process `pid`; others put theirs beside it
  int32_t pid = 0;
  std::string statusFile;  ///< a StatusPage; empty: nobody watches
  std::string cupti;       ///< hint for where it is
  bool memoryOnly = false;

  /// "NAME=value" texts. `library` is what CUDA and NVTX are to load.
  std::vector<std::string> toEnvironment(const std::string& library) const;
  /// Reads them through `get`, which gives null for what is not set. False when nothing is to be recorded.
  static bool fromEnvironment(const std::function<const char*(const char* name)>& get, InjectionSettings& settings);
  /// The trace of process `of`: `file`, or with its number before the extension.
  std::string fileOf(int32_t of) const;
};

/// `file` with `number` before its extension: run.mbtrace → run.1234.mbtrace.
std::string numberedFile(const std::string& file, int32_t number);

}  // namespace moeblaze::profiler
