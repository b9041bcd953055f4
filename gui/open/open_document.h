#pragma once

#include <memory>
#include <string>

#include "gui/document/document.h"
#include "gui/timeline/index/progress.h"

namespace moeblaze::gui {

/// Reads a file of any kind that openTrace reads, and makes a document of it. For worker threads. Throws InputError
/// naming the file, and Interrupted when stopped.
std::shared_ptr<const Document> openDocument(const std::string& path, const Progress& progress = {});

}  // namespace moeblaze::gui
