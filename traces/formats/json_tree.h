#pragma once

#include <cstddef>
#include <string_view>

#include "traces/formats/read_progress.h"
#include "traces/formats/value_tree.h"

namespace moeblaze {

/// Deepest nesting of objects and lists in a JSON text.
inline constexpr size_t kMaxJsonLevels = 64;

/// Reads the data of a JSON text. `source` stands for the file in errors. Throws InputError for text that is not JSON,
/// is nested deeper than kMaxJsonLevels, or is beyond a limit of ValueTree.
ValueTree readJsonTree(std::string_view text, std::string_view source, const ReadProgress& progress = {});

}  // namespace moeblaze
