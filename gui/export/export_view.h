#pragma once

#include <QSize>
#include <string>
#include <vector>

namespace moeblaze::gui {

/// Which picture is made without a window.
enum class ExportView : uint8_t { timeline, peak, compare };
/// Throws InputError naming `option`, with the nearest name.
ExportView parseExportView(const std::string& option, const std::string& text);

/// Opens `files` and makes a picture at `path`; needs a QGuiApplication. Timeline and peak take one file, a comparison
/// two. Throws InputError.
void exportView(ExportView view, const std::vector<std::string>& files, const std::string& path, const QSize& size);

}  // namespace moeblaze::gui
