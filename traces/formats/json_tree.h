#pragma once

#include <string_view>

#include "traces/formats/read_progress.h"
#include "traces/formats/value_tree.h"

namespace moeblaze {

/// The data in a JSON text, at most 64 levels deep; `source` stands for the file in errors. Throws InputError where it
/// is not JSON or beyond a limit of ValueTree.
ValueTree readJsonTree(std::string_view text, std::string_view source, const ReadProgress& progress = {});

}  // namespace moeblaze
