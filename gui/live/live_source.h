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

/// Whether a file is a .mbtrace file whose recording has not ended; throws InputError when it cannot be read.
bool isRecording(const std::string& path);

/// Follows a recording: looks for news a few times a second and makes a document of what is there, on a worker thread.
/// Large recordings are looked at less often, so that it never takes more than about half a core.
class LiveSource : public QObject {
  Q_OBJECT

 public:
  static constexpr int kPollMs = 300, kRetryMs = 1000;

  explicit LiveSource(std::string path, QObject* parent = nullptr);

  void start();
  void stop();
  bool isFinished() const { return finished_; }
  /// Since the recording last grew, ms; it may have been killed.
  qint64 quietMs() const { return sinceNews_.elapsed(); }

 Q_SIGNALS:
  /// The recording grew; the first time too.
  void grew(std::shared_ptr<const Document> document);
  /// Nothing will follow.
  void finished();
  /// A poll brought nothing.
  void quiet();
  /// It cannot be read at present; told once for the same problem.
  void failed(const QString& problem);

 private:
  struct News {
    std::shared_ptr<const Document> document;  ///< null: nothing new
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
