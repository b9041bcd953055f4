#pragma once

#include <memory>

#include "gui/jobs/latest_job.h"
#include "gui/parts/page.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;

namespace moeblaze::gui {

class LiveSource;
class TimelineView;

/// The tab of a file: shows how far it is read, what is wrong with it, or its timeline. Follows the file while it is
/// being recorded.
class DocumentPage : public Page {
  Q_OBJECT

 public:
  explicit DocumentPage(QString path, QWidget* parent = nullptr);
  ~DocumentPage() override;

  const QString& path() const { return path_; }
  ViewState* state() const override { return state_; }
  TimelineView* timeline() const { return timeline_; }
  bool isLoading() const { return job_.isRunning(); }
  /// Whether there is nothing to show although nothing is being read: reading failed.
  bool hasFailed() const { return !job_.isRunning() && !document(); }
  bool hasPanels() const override { return !hasFailed(); }
  /// Whether the file is being recorded, as far as one can tell.
  bool isLive() const { return live_ != nullptr; }
  QString liveText() const override;

 Q_SIGNALS:
  /// The file could not be read; the page says why, too.
  void failed(const QString& problem);
  /// The user cancelled the reading.
  void cancelled();
  /// liveText() may have changed.
  void liveChanged();

 private:
  struct Opened {
    std::shared_ptr<const Document> document;
    bool isRecording = false;
  };
  QWidget* makeLoading();
  QWidget* makeFailed();
  void load();
  void showOpened(Opened opened);
  void showFailure(const QString& problem);
  void follow();
  void grow(const std::shared_ptr<const Document>& document);

  QString path_;
  ViewState* state_;
  TimelineView* timeline_;
  QStackedWidget* stack_;
  QProgressBar* progress_ = nullptr;
  QLabel* problem_ = nullptr;
  LiveSource* live_ = nullptr;
  LatestJob job_{this};
};

}  // namespace moeblaze::gui
