#pragma once

#include <QWidget>

class QVBoxLayout;

namespace moeblaze::gui {

class RecentFiles;

/// The first page: the samples, the kinds of files that can be opened, the recent files, and the keys.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  /// `recent` must outlive the page.
  explicit StartPage(RecentFiles* recent, QWidget* parent = nullptr);

 Q_SIGNALS:
  /// The user wants to open a file, to choose files to open, or the what-if page.
  void openWanted(const QString& path);
  void dialogWanted();
  void whatIfWanted();

 private:
  void addStart(QVBoxLayout* layout);
  void addRecent(QVBoxLayout* layout);
  void showRecent();

  RecentFiles* recent_;
  QVBoxLayout* recentList_ = nullptr;
};

}  // namespace moeblaze::gui
