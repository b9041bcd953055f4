#include "gui/live/live_source.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "traces/open.h"
#include "traces/store/store.h"

namespace moeblaze::gui {

bool isRecording(const std::string& path) { return kindOf(path).name == kMbtrace && !summarize(path).finished; }

LiveSource::LiveSource(std::string path, QObject* parent)
    : QObject(parent), path_(std::move(path)), shared_(std::make_shared<Shared>(path_)) {
  timer_.setSingleShot(true);
  connect(&timer_, &QTimer::timeout, this, &LiveSource::poll);
  sinceNews_.start();
}

void LiveSource::start() { poll(); }

void LiveSource::stop() {
  timer_.stop();
  job_.cancel();
}

void LiveSource::poll() {
  QElapsedTimer worked;
  worked.start();
  job_.start(
      [shared = shared_, path = path_](const std::stop_token& stop) {
        const std::scoped_lock lock(shared->mutex);
        TraceFollower& follower = shared->follower;
        News news;
        const bool grew = follower.poll(ReadProgress({}, stop));
        news.finished = follower.finished();
        // A copy, because a document never changes while the follower's trace grows.
        if (grew)
          news.document =
              std::make_shared<const Document>(std::make_shared<const Trace>(follower.trace()), path,
                                               std::filesystem::path(path).filename().string(), Progress{{}, stop});
        return news;
      },
      [this, worked](const News& news) {
        show(news);
        if (!finished_) timer_.start(std::max<int>(kPollMs, static_cast<int>(worked.elapsed())));
      },
      [this](const QString& problem) {
        if (std::exchange(problem_, problem) != problem) Q_EMIT failed(problem);
        timer_.start(kRetryMs);  // the program may be about to start again
      });
}

void LiveSource::show(const News& news) {
  problem_.clear();
  finished_ = news.finished;
  if (news.document) {
    sinceNews_.start();
    Q_EMIT grew(news.document);
  } else {
    Q_EMIT quiet();
  }
  if (finished_) Q_EMIT finished();
}

}  // namespace moeblaze::gui
