#include "gui/benchmark/benchmark.h"

#include <fmt/format.h>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QTimer>
#include <algorithm>
#include <fstream>

#include "core/base/error.h"
#include "gui/document/view_state.h"
#include "gui/open/open_document.h"
#include "gui/timeline/view/timeline_view.h"

namespace moeblaze::gui {
namespace {

constexpr QSize kSize(1920, 700);
constexpr int kZooms = 60, kPans = 120;
constexpr double kZoom = 1.12, kPanPixels = 40;
constexpr int kMaxWaitMs = 60'000;

double ms(const QElapsedTimer& timer) { return static_cast<double>(timer.nsecsElapsed()) / 1e6; }

/// Reads a memory figure of this process from the kernel, such as "VmRSS", in bytes; 0 where the kernel does not tell
/// it.
int64_t memoryOf(std::string_view field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(field)) return std::stoll(line.substr(field.size() + 1)) * 1024;
  return 0;
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  return values[std::min(values.size() - 1, static_cast<size_t>(share * static_cast<double>(values.size())))];
}

/// Runs `act`, waits until the view has painted what it asks for, and returns the milliseconds that took. `paintMs`
/// receives those during which the window could do nothing else. Throws DeviceError after kMaxWaitMs.
double untilDrawn(TimelineView& view, const std::function<void()>& act, double* paintMs = nullptr) {
  QEventLoop loop;
  const auto drawn = QObject::connect(&view, &TimelineView::drawn, &loop, &QEventLoop::quit);
  QTimer::singleShot(kMaxWaitMs, &loop, [&] { loop.exit(1); });
  QElapsedTimer timer;
  timer.start();
  act();
  view.viewport()->repaint();
  if (paintMs != nullptr) *paintMs = ms(timer);
  if (loop.exec() != 0) throw DeviceError("the timeline was not drawn within a minute");
  view.viewport()->repaint();
  QObject::disconnect(drawn);
  return ms(timer);
}

void move(TimelineView& view, ViewState& state, const TimeWindow& window, BenchmarkResult& result) {
  if (clamped(window, state.document()->bounds()) == state.view().window) return;
  double paintMs = 0;
  result.frameMs.push_back(untilDrawn(
      view, [&] { state.setWindow(window, ViewState::Undo::none); }, &paintMs));
  result.paintMs.push_back(paintMs);
}

/// Zooms in on the peak, pans along the trace and back, and zooms out again.
void travel(TimelineView& view, ViewState& state, BenchmarkResult& result) {
  const TimeWindow bounds = state.document()->bounds();
  const auto scale = [&] { return TimeScale(state.view().window, kSize.width()); };
  const TrackId track = state.view().track;
  const int64_t peakNs = track == TrackId::none ? 0 : state.document()->events(track)->peak().timeNs;
  for (int i = 0; i < kZooms; ++i) move(view, state, scale().zoomed(scale().xOf(peakNs), 1 / kZoom, bounds), result);
  for (int i = 0; i < kPans; ++i)
    move(view, state, scale().panned(i < kPans / 2 ? kPanPixels : -kPanPixels, bounds), result);
  for (int i = 0; i < kZooms; ++i) move(view, state, scale().zoomed(scale().width() / 2.0, kZoom, bounds), result);
}

}  // namespace

BenchmarkResult runBenchmark(const std::string& path, bool allPanes) {
  BenchmarkResult result;
  result.file = path;
  QElapsedTimer timer;
  timer.start();
  std::shared_ptr<const Document> document = openDocument(path);
  result.openMs = ms(timer);
  ViewState state;
  TimelineView view(&state);
  view.resize(kSize);
  view.show();
  QCoreApplication::processEvents();
  result.firstFrameMs = untilDrawn(view, [&] { state.setDocument(document); });
  if (state.view().track != TrackId::none)
    result.events = static_cast<int64_t>(document->events(state.view().track)->size());
  for (const Pane pane : {Pane::stack, Pane::addresses})
    if (allPanes) untilDrawn(view, [&] { state.setPaneVisible(pane, true); });
  travel(view, state, result);
  result.rssBytes = memoryOf("VmRSS");
  result.peakRssBytes = memoryOf("VmHWM");
  return result;
}

Record toRecord(const BenchmarkResult& r) {
  return {{"file", r.file},
          {"events", r.events},
          {"open_ms", r.openMs},
          {"first_frame_ms", r.firstFrameMs},
          {"rss_bytes", r.rssBytes},
          {"peak_rss_bytes", r.peakRssBytes},
          {"frames", r.frameMs.size()},
          {"frame_median_ms", quantile(r.frameMs, 0.5)},
          {"frame_p99_ms", quantile(r.frameMs, 0.99)},
          {"paint_median_ms", quantile(r.paintMs, 0.5)},
          {"paint_p99_ms", quantile(r.paintMs, 0.99)}};
}

std::string toText(const BenchmarkResult& r) {
  return fmt::format(
      "{}: {} events\n"
      "  open          {:10.1f} ms\n"
      "  first frame   {:10.1f} ms\n"
      "  memory        {:>13} (at most {})\n"
      "  frame         {:10.2f} ms median, {:.2f} ms p99 of {} zooms and pans, 1920 pixels wide\n"
      "  window busy   {:10.2f} ms median, {:.2f} ms p99\n",
      r.file, cellText({{"n", r.events}}, {"n", "", Unit::count}), r.openMs, r.firstFrameMs, bytesText(r.rssBytes),
      bytesText(r.peakRssBytes), quantile(r.frameMs, 0.5), quantile(r.frameMs, 0.99), r.frameMs.size(),
      quantile(r.paintMs, 0.5), quantile(r.paintMs, 0.99));
}

}  // namespace moeblaze::gui
