#pragma once

#include <QWidget>

class QVBoxLayout;

namespace moeblaze::gui {

class RecentFiles;

/// What a first start shows: samples a click away, what can be opened, and the keys.
class StartPage : public QWidget {
  Q_OBJECT

 public:
  /// `recent` outlives it.
  explicit StartPage(RecentFiles* recent, QWidget* parent = nullptr);

 Q_SIGNALS:
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
