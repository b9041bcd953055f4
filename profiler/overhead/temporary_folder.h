#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "core/base/error.h"

namespace moeblaze::profiler {

/// A new folder for the files of a measurement. The destructor removes it with everything in it.
class TemporaryFolder {
 public:
  /// Throws InputError when the folder cannot be made.
  TemporaryFolder() {
    std::string path = (std::filesystem::temp_directory_path() / "moeblaze-prof-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) refuse(path, "cannot be made; is there space, and TMPDIR right?");
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  /// The path of the file `name` in this folder; the file need not exist.
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace moeblaze::profiler
