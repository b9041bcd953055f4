#pragma once

#include <QMainWindow>
#include <memory>
#include <vector>

#include "gui/document/document.h"
#include "gui/open/latest_job.h"
#include "gui/open/recent_files.h"

class QDockWidget;
class QLabel;
class QMenu;
class QTabWidget;

namespace moeblaze::gui {

class AlivePanel;
class ComparePage;
class DocumentPage;
class FlamePanel;
class InfoPanel;
class StartPage;
class StatePanel;
class ViewBar;
class ViewState;
class WhatIfPage;

/// The program's window: a tab a trace, panels that follow the one in front.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  /// A tab each; one that is open already comes to the front.
  void openFiles(const QStringList& paths);
  void showWhatIf();
  /// Beside one another; either may be null for one that is open.
  void compare(std::shared_ptr<const Document> a, std::shared_ptr<const Document> b);
  /// Every trace that is read, and the what-if page's.
  std::vector<std::shared_ptr<const Document>> documents() const;

  QTabWidget* tabs() const { return tabs_; }
  AlivePanel* alive() const { return alive_; }
  FlamePanel* flame() const { return flame_; }
  ViewBar* viewBar() const { return viewBar_; }
  WhatIfPage* whatIf() const { return whatIf_; }
  ComparePage* comparePage() const { return compare_; }
  RecentFiles* recent() { return &recent_; }
  /// What the front tab shows; null without a timeline.
  ViewState* currentState() const;

  /// Saves what is in front; PNG or SVG as the name's ending says. Problems are told in the status bar.
  void savePicture(const QString& path);
  /// The same for what is alive, by name.
  void savePeak(const QString& path);
  /// The front table: differences, or what is alive.
  void saveCsv(const QString& path);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void makePages();
  void makeDocks();
  void addDock(StatePanel* panel, const QString& title, const QString& name, Qt::DockWidgetArea area);
  void makeFileMenu();
  void makeViewMenu();
  void makeCompareMenu();
  void makeHelpMenu();
  void fillRecent(QMenu* menu);
  void fillOverlay(QMenu* menu);
  void addUnits(QMenu* menu);
  void addThemes(QMenu* menu);
  QAction* addEntry(QMenu* menu, const QString& text, const QKeySequence& key, void (MainWindow::*act)());

  void openDialog();
  void openFolderOfSamples();
  void closeCurrent();
  void closeTab(int at);
  void addPage(DocumentPage* page);
  void pageChanged(DocumentPage* page);
  void frontChanged();
  /// Hides the panels where there is nothing for them; what the user closed or put in front stays so.
  void showDocks(bool visible);
  void documentsChanged();
  void showStatus();
  void compareOpen();
  void pictureDialog();
  void peakDialog();
  void csvDialog();
  void focusFilter();
  void nextBands();
  void keys();
  void about();
  void tell(const QString& text);
  /// Runs `write` on a worker thread; then tells that `path` was saved, or why not.
  template <typename Write>
  void save(const QString& path, Write write);
  void restore();

  RecentFiles recent_;
  QTabWidget* tabs_;
  ViewBar* viewBar_;
  StartPage* start_ = nullptr;
  WhatIfPage* whatIf_ = nullptr;
  ComparePage* compare_ = nullptr;
  AlivePanel* alive_ = nullptr;
  FlamePanel* flame_ = nullptr;
  InfoPanel* info_ = nullptr;
  QLabel *summary_, *live_, *unit_;
  bool docksVisible_ = true;
  QList<QDockWidget*> hiddenDocks_;
  QDockWidget* frontDock_ = nullptr;  ///< of those in one place
  LatestJob saving_{this};
};

}  // namespace moeblaze::gui
