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

/// The window of the program: a tab for each trace, and panels that follow the tab in front.
class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  /// Opens each file in a tab. A file that is open already comes to the front.
  void openFiles(const QStringList& paths);
  /// Brings the what-if page to the front.
  void showWhatIf();
  /// Compares two documents. A null `a` stands for the first open document, a null `b` for the last.
  void compare(std::shared_ptr<const Document> a, std::shared_ptr<const Document> b);
  /// The documents of all traces that are read, and that of the what-if page.
  Documents documents() const;

  QTabWidget* tabs() const { return tabs_; }
  AlivePanel* alive() const { return alive_; }
  ViewBar* viewBar() const { return viewBar_; }
  /// Null until the page was shown for the first time.
  WhatIfPage* whatIf() const;
  ComparePage* comparePage() const;
  RecentFiles* recent() { return &recent_; }
  /// The view state of the tab in front; null if it has no document.
  ViewState* currentState() const;

  /// Saves the page in front as a PNG or SVG file, as the ending of `path` says. The status bar tells the result.
  void savePicture(const QString& path);
  /// Saves a picture of what is alive, grouped by name unless the panel groups it otherwise.
  void savePeak(const QString& path);
  /// Saves the table in front: the differences, or what is alive.
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
  void closeCurrent();
  void closeTab(int at);
  void addPage(DocumentPage* page);
  Page* currentPage() const;
  /// The page of an entry. It is made on first use and kept when its tab is closed.
  Page* pageOf(const PageEntry& entry);
  void bringToFront(const PageEntry& entry);
  void openPage(const PageEntry& entry);
  void pageChanged(const Page* page);
  void frontChanged();
  /// Hides or shows all panels together. Those that the user closed stay closed, and the one in front stays there.
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
  /// Runs `write` on a worker thread, then tells in the status bar that `path` was saved or why it was not.
  template <typename Write>
  void save(const QString& path, Write write);
  void restore();

  RecentFiles recent_;
  QTabWidget* tabs_;
  ViewBar* viewBar_;
  StartPage* start_ = nullptr;
  QHash<const QMetaObject*, Page*> pages_;  ///< the pages made so far, by PageEntry::type
  std::vector<StatePanel*> panels_;
  AlivePanel* alive_ = nullptr;
  QLabel *summary_, *live_, *unit_;
  bool docksVisible_ = true;
  QList<QDockWidget*> hiddenDocks_;
  QDockWidget* frontDock_ = nullptr;  ///< the one of the tabbed docks that is in front
  LatestJob saving_{this};
};

}  // namespace moeblaze::gui
