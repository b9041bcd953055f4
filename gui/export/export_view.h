#pragma once

#include <QSize>
#include <string>
#include <vector>

namespace moeblaze::gui {

/// The pictures that can be made without a window.
enum class ExportView : uint8_t { timeline, peak, compare };
/// Parses the name of a view; throws InputError that names `option` and the nearest valid name.
ExportView parseExportView(const std::string& option, const std::string& text);

/// Opens `files` and writes a picture to `path`. Timeline and peak take one file, a comparison takes two. Needs a
/// QGuiApplication; throws InputError.
void exportView(ExportView view, const std::vector<std::string>& files, const std::string& path, const QSize& size);

}  // namespace moeblaze::gui
