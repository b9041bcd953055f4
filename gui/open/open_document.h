#pragma once

#include <memory>
#include <string>

#include "gui/document/document.h"
#include "gui/timeline/index/progress.h"

namespace moeblaze::gui {

/// Reads any file that openTrace reads and makes a document of it; for worker threads. Throws InputError naming the
/// file, Interrupted or Cancelled when stopped.
std::shared_ptr<const Document> openDocument(const std::string& path, const Progress& progress = {});

/// A document of a trace that came from no file.
std::shared_ptr<const Document> makeDocument(Trace trace, std::string title, const Progress& progress = {});

}  // namespace moeblaze::gui
