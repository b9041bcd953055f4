#include "gui/open/open_document.h"

#include <filesystem>

#include "traces/open.h"

namespace moeblaze::gui {

std::shared_ptr<const Document> openDocument(const std::string& path, const Progress& progress) {
  constexpr double kRead = 0.75;  // the share of the time that reading takes, roughly
  const Progress reading = progress.part(0, kRead);
  auto trace = std::make_shared<const Trace>(openTrace(path, ReadProgress(reading.onFraction, progress.stop)));
  const std::string title = std::filesystem::path(path).filename().string();
  return std::make_shared<const Document>(std::move(trace), path, title, progress.part(kRead, 1));
}

}  // namespace moeblaze::gui
