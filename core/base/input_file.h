#pragma once

#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "core/base/error.h"

namespace moeblaze {

/// Opens a file that the user named. Throws InputError when it is missing, a folder or unreadable.
inline std::ifstream openInput(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    throw InputError(fmt::format("{}: is a folder; allowed: a file", path.string()));
  }
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    throw InputError(fmt::format("{}: cannot be read: {}", path.string(), std::generic_category().message(errno)));
  }
  return in;
}

}  // namespace moeblaze
