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

/// A frame with its panes' pictures.
struct RenderedFrame {
  TimelineFrame frame;
  std::array<QImage, kPanes> images;
  uint64_t generation = 0;  ///< of the request
};

/// Makes frames on a thread of its own: of those asked for while it works only the last, so that what it makes is
/// never far behind. Indices that are not there yet are made on another thread meanwhile.
class TimelineRenderer : public QObject {
  Q_OBJECT

 public:
  explicit TimelineRenderer(QObject* parent = nullptr);
  ~TimelineRenderer() override;

  /// Replaces what was asked for before and has not begun. Returns its generation, by which late frames are told.
  uint64_t request(TimelineQuery query, const TimelineTheme& theme);

 Q_SIGNALS:
  /// On the thread of this object; never one older than one told before.
  void rendered(std::shared_ptr<const moeblaze::gui::RenderedFrame> frame);
  /// An index was made that a frame went without: ask again.
  void indicesMade();

 private:
  struct Request {
    TimelineQuery query;
    TimelineTheme theme;
    uint64_t generation = 0;
  };
  /// A thread that does the last thing it was told.
  template <typename Job>
  class LastJob {
   public:
    template <typename Work>
    explicit LastJob(Work work);
    void set(Job job);

   private:
    std::mutex mutex_;
    std::condition_variable_any wake_;
    std::optional<Job> next_;
    std::jthread thread_;  ///< last: stops first
  };
  void render(const Request& request);
  void prepare(const TimelineQuery& query, const std::stop_token& stop);

  uint64_t generation_ = 0;
  LastJob<TimelineQuery> prepare_;
  LastJob<Request> render_;  ///< uses the one above
};

}  // namespace moeblaze::gui

Q_DECLARE_METATYPE(std::shared_ptr<const moeblaze::gui::RenderedFrame>)
