#pragma once

#include <string>
#include <string_view>

#include "core/trace/trace.h"
#include "traces/formats/read_progress.h"

namespace moeblaze {

/// What recognises a file: its path and its first bytes.
struct FileHead {
  std::string path;
  std::string bytes;  ///< at most kHeadBytes

  static constexpr size_t kHeadBytes = 4096;
  /// The first byte that is neither a space nor a line break; 0 when there is none.
  char firstMark() const;
};

/// A kind of file that can be read as a Trace. An importer is one source file that defines a function returning its
/// FileKind, which traces/file_kinds.cpp lists.
struct FileKind {
  std::string_view name;     ///< what `moeblaze-trace info` calls it; with an "s" in the program's help
  std::string_view brief;    ///< how the help of `moeblaze-trace import` lists it
  std::string_view allowed;  ///< how an error lists it among what is read
  /// Whether a file that no kind earlier in the list recognises is of this kind.
  bool (*recognises)(const FileHead& head);
  /// Reads the file. Throws InputError naming `path` when it is damaged, and Interrupted when `progress` stops it.
  Trace (*read)(const std::string& path, const ReadProgress& progress);
};

/// The first bytes of a file. Throws InputError when it cannot be read.
FileHead headOf(const std::string& path);

/// All bytes of a file. Throws InputError when it cannot be opened.
std::string contentOf(const std::string& path);

}  // namespace moeblaze
