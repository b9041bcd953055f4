#pragma once

#include <string>

#include "core/trace/trace.h"

namespace moeblaze {

/// Writes a whole trace as an SQLite file of ordinary tables, with a row for each allocation, span and counter point.
/// Texts stand in the rows themselves; what is never or unknown is NULL. The file is written beside `path` and then
/// renamed, so nothing half-written is left under that name. Throws InputError naming `path`.
void exportRows(const Trace& trace, const std::string& path);

}  // namespace moeblaze
