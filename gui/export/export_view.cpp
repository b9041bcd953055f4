#include "gui/export/export_view.h"

#include <QGuiApplication>
#include <algorithm>
#include <array>

#include "core/base/error.h"
#include "core/command/command_options.h"
#include "gui/compare/compare_picture.h"
#include "gui/export/peak_picture.h"
#include "gui/export/write_picture.h"
#include "gui/open/open_document.h"
#include "gui/timeline/paint/timeline_picture.h"

namespace moeblaze::gui {
namespace {

constexpr std::array<std::string_view, 3> kNames{"timeline", "peak", "compare"};

void requireMemory(const Documents& documents) {
  for (const auto& document : documents)
    if (document->mainTrack() == TrackId::none)
      throw InputError(document->path() + ": holds no allocations; allowed: a trace with memory events");
}

Paint timeline(const Documents& documents) {
  ViewState state;
  state.setDocument(documents[0]);
  return [picture = TimelinePicture{documents[0], state.view(), QGuiApplication::palette(), QGuiApplication::font()}](
             QPainter& painter, const QSize& size) { paintTimeline(painter, size, picture); };
}

Paint peak(const Documents& documents) {
  requireMemory(documents);
  const Document& document = *documents[0];
  AliveQuery query;
  query.track = document.mainTrack();
  query.instantNs = document.events(query.track)->peak().timeNs;
  query.grouping = Attribute::name;
  const auto labels = std::make_shared<const TraceLabels>(document.sharedTrace());
  const auto table = std::make_shared<const AliveTable>(documents[0], labels, query);
  return [picture = PeakPicture{table, true, QGuiApplication::palette(), QGuiApplication::font()}](
             QPainter& painter, const QSize& size) { paintPeak(painter, size, picture); };
}

Paint compare(const Documents& documents) {
  requireMemory(documents);
  const auto side = [](const auto& document) { return ComparedTrack{document, document->mainTrack()}; };
  const auto comparison = std::make_shared<const Comparison>(side(documents[0]), side(documents[1]), Alignment::step);
  return [picture = ComparePicture{comparison, comparison->bounds(), std::nullopt, QGuiApplication::palette(),
                                   QGuiApplication::font()}](QPainter& painter, const QSize& size) {
    paintComparison(painter, size, picture);
  };
}

}  // namespace

ExportView parseExportView(const std::string& option, const std::string& text) {
  const auto found = std::ranges::find(kNames, text);
  if (found == kNames.end()) refuseName(option, text, kNames);
  return static_cast<ExportView>(found - kNames.begin());
}

void exportView(ExportView view, const std::vector<std::string>& files, const std::string& path, const QSize& size) {
  checkPictureName(path);  // a wrong name is refused before a long read
  const size_t wanted = view == ExportView::compare ? 2 : 1;
  if (files.size() != wanted)
    throw InputError(fmt::format("--view {} takes {} FILE{}, not {}", kNames[static_cast<size_t>(view)], wanted,
                                 wanted == 1 ? "" : "s", files.size()));
  Documents documents;
  for (const std::string& file : files) documents.push_back(openDocument(file));
  constexpr std::array kPaints{timeline, peak, compare};
  writePicture(path, size, kPaints[static_cast<size_t>(view)](documents));
}

}  // namespace moeblaze::gui
