#pragma once

#include <QHash>
#include <QMainWindow>
#include <memory>
#include <vector>

#include "gui/jobs/latest_job.h"
#include "gui/open/recent_files.h"
#include "gui/parts/page.h"
#include "gui/shell/page_list.h"

class QDockWidget;
class QLabel;
class QMenu;
class QTabWidget;

namespace moeblaze::gui {

class AlivePanel;
class ComparePage;
class DocumentPage;
class StartPage;
class ViewBar;
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
  Documents documents() const;

  QTabWidget* tabs() const { return tabs_; }
  AlivePanel* alive() const { return alive_; }
  ViewBar* viewBar() const { return viewBar_; }
  /// Null until the page was first shown.
  WhatIfPage* whatIf() const;
  ComparePage* comparePage() const;
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
  void makeFileMenu();
  void makeViewMenu();
  void makeAnalyzeMenu();
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
  Page* currentPage() const;
  /// The page of an entry, made on first use and kept when its tab is closed.
  Page* pageOf(const PageEntry& entry);
  void bringToFront(const PageEntry& entry);
  void openPage(const PageEntry& entry);
  void pageChanged(const Page* page);
  void frontChanged();
  /// Hides the panels where there is nothing for them; what the user closed or put in front stays so.
  void showDocks(bool visible);
  void documentsChanged();
  void showStatus();
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
  QHash<const QMetaObject*, Page*> pages_;  ///< those that were shown, by PageEntry::type
  std::vector<StatePanel*> panels_;
  AlivePanel* alive_ = nullptr;
  QLabel *summary_, *live_, *unit_;
  bool docksVisible_ = true;
  QList<QDockWidget*> hiddenDocks_;
  QDockWidget* frontDock_ = nullptr;  ///< of those in one place
  LatestJob saving_{this};
};

}  // namespace moeblaze::gui
