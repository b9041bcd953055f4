#pragma once

#include <QImage>
#include <QObject>
#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "gui/timeline/frame/timeline_frame.h"
#include "gui/timeline/frame/timeline_theme.h"

namespace moeblaze::gui {

/// A frame together with the pictures of its panes.
struct RenderedFrame {
  TimelineFrame frame;
  std::array<QImage, kPanes> images;
  uint64_t generation = 0;  ///< that of the request it answers
};

/// Makes frames on a thread of its own. Of the requests that arrive meanwhile only the last one is served, so that
/// pictures are never far behind. Missing indices are made on another thread at the same time.
class TimelineRenderer : public QObject {
  Q_OBJECT

 public:
  explicit TimelineRenderer(QObject* parent = nullptr);
  ~TimelineRenderer() override;

  /// Replaces an earlier request that has not started. Returns its generation, which tells its frame from earlier ones.
  uint64_t request(TimelineQuery query, const TimelineTheme& theme);

 Q_SIGNALS:
  /// Emitted on this object's thread, in the order of the requests.
  void rendered(std::shared_ptr<const moeblaze::gui::RenderedFrame> frame);
  /// An index is ready that a frame had to do without: request the frame again.
  void indicesMade();

 private:
  struct Request {
    TimelineQuery query;
    TimelineTheme theme;
    uint64_t generation = 0;
  };
  /// A thread that runs the last job it was given.
  template <typename Job>
  class Worker {
   public:
    template <typename Work>
    explicit Worker(Work work);
    void set(Job job);

   private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::optional<Job> next_;
    std::jthread thread_;  ///< declared last, so that it stops before the other members are destroyed
  };
  void render(const Request& request);
  void prepare(const TimelineQuery& query, const std::stop_token& stop);

  uint64_t generation_ = 0;
  Worker<TimelineQuery> prepare_;
  Worker<Request> render_;  ///< declared last, because it uses prepare_
};

}  // namespace moeblaze::gui

Q_DECLARE_METATYPE(std::shared_ptr<const moeblaze::gui::RenderedFrame>)
