#pragma once

#include <span>

#include "traces/import/file_kind.h"

namespace moeblaze {

/// Every kind of file that is read, in the order in which they are tried. The first is .mbtrace itself.
std::span<const FileKind> fileKinds();

/// The kinds other than .mbtrace: what `moeblaze-trace import` takes.
std::span<const FileKind> foreignFileKinds();

}  // namespace moeblaze
