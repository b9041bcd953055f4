#include "gui/timeline/frame/timeline_renderer.h"

#include <utility>

#include "gui/timeline/frame/timeline_raster.h"

namespace moeblaze::gui {

template <typename Job>
template <typename Work>
TimelineRenderer::Worker<Job>::Worker(Work work)
    : thread_([this, work](const std::stop_token& stop) {
        while (true) {
          std::unique_lock lock(mutex_);
          if (!wake_.wait(lock, stop, [&] { return next_.has_value(); })) return;
          const Job job = *std::exchange(next_, std::nullopt);
          lock.unlock();
          work(job, stop);
        }
      }) {}

template <typename Job>
void TimelineRenderer::Worker<Job>::set(Job job) {
  const std::scoped_lock lock(mutex_);
  next_ = std::move(job);
  wake_.notify_one();
}

TimelineRenderer::TimelineRenderer(QObject* parent)
    : QObject(parent),
      prepare_([this](const TimelineQuery& query, const std::stop_token& stop) { prepare(query, stop); }),
      render_([this](const Request& request, const std::stop_token&) { render(request); }) {}

TimelineRenderer::~TimelineRenderer() = default;

uint64_t TimelineRenderer::request(TimelineQuery query, const TimelineTheme& theme) {
  render_.set({std::move(query), theme, ++generation_});
  return generation_;
}

void TimelineRenderer::render(const Request& request) {
  auto result = std::make_shared<RenderedFrame>();
  result->generation = request.generation;
  result->frame = makeFrame(request.query);
  for (size_t i = 0; i < kPanes; ++i)
    result->images[i] = rasterPane(result->frame, static_cast<Pane>(i), request.theme);
  if (!result->frame.isComplete) prepare_.set(request.query);
  QMetaObject::invokeMethod(
      this, [this, result] { Q_EMIT rendered(result); }, Qt::QueuedConnection);
}

void TimelineRenderer::prepare(const TimelineQuery& query, const std::stop_token& stop) {
  try {
    makeIndices(query, {{}, stop});
  } catch (const Interrupted&) {
    return;
  }
  QMetaObject::invokeMethod(
      this, [this] { Q_EMIT indicesMade(); }, Qt::QueuedConnection);
}

}  // namespace moeblaze::gui
