#include "traces/file_kinds.h"

#include <array>

#include "traces/formats/sqlite.h"
#include "traces/open.h"
#include "traces/store/store.h"

namespace moeblaze {

// Defined by the importers, each in its own source file.
FileKind torchSnapshotFile();
FileKind kinetoFile();
FileKind nsightFile();

namespace {

FileKind mbtraceFile() {
  return {.name = kMbtrace,
          .brief = ".mbtrace",
          .allowed = ".mbtrace",
          .recognises = [](const FileHead& head) { return sqlite::isDatabase(head.bytes) && isTraceFile(head.path); },
          .read = readTrace};
}

}  // namespace

std::span<const FileKind> fileKinds() {
  static const std::array kKinds{mbtraceFile(), torchSnapshotFile(), kinetoFile(), nsightFile()};
  return kKinds;
}

std::span<const FileKind> foreignFileKinds() { return fileKinds().subspan(1); }

}  // namespace moeblaze
