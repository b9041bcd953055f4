#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QTimer>
#include <memory>
#include <mutex>
#include <string>

#include "gui/document/document.h"
#include "gui/jobs/latest_job.h"
#include "traces/store/follower.h"

namespace moeblaze::gui {

/// Whether a file is a .mbtrace file whose recording has not ended. Throws InputError if it cannot be read.
bool isRecording(const std::string& path);

/// Follows a recording: reads what is new a few times a second on a worker thread, and makes a document of it. The
/// longer a read takes the longer the next one waits, so that following uses at most about half a core.
class LiveSource : public QObject {
  Q_OBJECT

 public:
  static constexpr int kPollMs = 300, kRetryMs = 1000;

  explicit LiveSource(std::string path, QObject* parent = nullptr);

  /// Begins to poll the file; the first poll comes at once.
  void start();
  /// Stops polling and drops the result of a poll under way.
  void stop();
  bool isFinished() const { return finished_; }
  /// Milliseconds since the recording last grew; a long time may mean that the program was killed.
  qint64 quietMs() const { return sinceNews_.elapsed(); }

 Q_SIGNALS:
  /// The recording grew. Emitted for its first state, too.
  void grew(std::shared_ptr<const Document> document);
  /// The recording ended and will not grow again.
  void finished();
  /// A poll found nothing new.
  void quiet();
  /// The file cannot be read at present. Emitted once for each new problem.
  void failed(const QString& problem);

 private:
  struct News {
    std::shared_ptr<const Document> document;  ///< null if nothing is new
    bool finished = false;
  };
  struct Shared {
    explicit Shared(std::string path) : follower(std::move(path)) {}
    std::mutex mutex;
    TraceFollower follower;
  };
  void poll();
  void show(const News& news);

  std::string path_;
  std::shared_ptr<Shared> shared_;
  QTimer timer_;
  QElapsedTimer sinceNews_;
  QString problem_;
  bool finished_ = false;
  LatestJob job_{this};
};

}  // namespace moeblaze::gui
