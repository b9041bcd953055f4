#include <QAction>
#include <QActionGroup>
#include <QDesktopServices>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QTabWidget>
#include <QUrl>

#include "core/base/report.h"
#include "gui/export/peak_picture.h"
#include "gui/export/write_picture.h"
#include "gui/open/samples.h"
#include "gui/panels/alive_panel.h"
#include "gui/shell/key_help.h"
#include "gui/shell/main_window.h"
#include "gui/shell/theme.h"
#include "gui/shell/view_bar.h"
#include "gui/timeline/paint/timeline_picture.h"
#include "gui/timeline/view/timeline_view.h"
#include "gui/units/units.h"
#include "version.h"

namespace moeblaze::gui {
namespace {

QString pictureFilter() { return QObject::tr("PNG picture (*.png);;SVG drawing (*.svg)"); }

/// Adds the ending of the chosen filter to a path that has none.
QString withEnding(const QString& path, const QString& filter) {
  if (path.isEmpty() || !QFileInfo(path).suffix().isEmpty()) return path;
  return path + (filter.contains("*.svg") ? ".svg" : filter.contains("*.csv") ? ".csv" : ".png");
}

}  // namespace

QAction* MainWindow::addEntry(QMenu* menu, const QString& text, const QKeySequence& key, void (MainWindow::*act)()) {
  QAction* action = menu->addAction(text);
  action->setShortcut(key);
  connect(action, &QAction::triggered, this, act);
  return action;
}

void MainWindow::makeFileMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&File"));
  addEntry(menu, tr("&Open…"), QKeySequence::Open, &MainWindow::openDialog);
  QMenu* recent = menu->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fillRecent(recent); });
  QMenu* sampleMenu = menu->addMenu(tr("Open &sample"));
  for (const Sample& sample : samples())
    connect(sampleMenu->addAction(sample.title), &QAction::triggered, this,
            [this, file = sample.file] { openFiles({file}); });
  sampleMenu->setEnabled(!sampleMenu->isEmpty());
  menu->addSeparator();
  addEntry(menu, tr("Save view as &picture…"), QKeySequence("Ctrl+E"), &MainWindow::pictureDialog);
  addEntry(menu, tr("Save what is &alive as picture…"), {}, &MainWindow::peakDialog);
  addEntry(menu, tr("Save table as &CSV…"), QKeySequence("Ctrl+Shift+E"), &MainWindow::csvDialog);
  menu->addSeparator();
  addEntry(menu, tr("&Close tab"), QKeySequence("Ctrl+W"), &MainWindow::closeCurrent);
  QAction* quit = menu->addAction(tr("&Quit"));
  quit->setShortcut(QKeySequence("Ctrl+Q"));
  connect(quit, &QAction::triggered, this, &MainWindow::close);
}

void MainWindow::makeViewMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&View"));
  menu->addActions(viewBar_->moves());
  menu->addSeparator();
  QMenu* bands = menu->addMenu(tr("&Bands"));
  bands->addActions(viewBar_->bands());
  addEntry(bands, tr("Next"), Qt::Key_C, &MainWindow::nextBands);
  menu->addMenu(tr("&Panes"))->addActions(viewBar_->panes());
  QMenu* overlay = menu->addMenu(tr("&Overlay"));
  connect(overlay, &QMenu::aboutToShow, this, [this, overlay] { fillOverlay(overlay); });
  menu->addSeparator();
  addEntry(menu, tr("&Filter what is alive"), Qt::Key_Slash, &MainWindow::focusFilter);
  for (QDockWidget* dock : findChildren<QDockWidget*>()) menu->addAction(dock->toggleViewAction());
  menu->addSeparator();
  addUnits(menu->addMenu(tr("&Units")));
  addThemes(menu->addMenu(tr("&Theme")));
}

void MainWindow::makeAnalyzeMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Analyze"));
  for (const PageEntry& entry : pageEntries()) {
    QAction* action = menu->addAction(tr(entry.action));
    action->setShortcut(QKeySequence(entry.shortcut));
    connect(action, &QAction::triggered, this, [this, &entry] { openPage(entry); });
  }
}

void MainWindow::makeHelpMenu() {
  QMenu* menu = menuBar()->addMenu(tr("&Help"));
  QAction* help = addEntry(menu, tr("&Keys"), {}, &MainWindow::keys);
  help->setShortcuts({QKeySequence(Qt::Key_F1), QKeySequence(Qt::Key_Question)});
  addEntry(menu, tr("&About MoEBlaze"), {}, &MainWindow::about);
}

void MainWindow::fillRecent(QMenu* menu) {
  menu->clear();
  for (const QString& file : recent_.files())
    connect(menu->addAction(file), &QAction::triggered, this, [this, file] { openFiles({file}); });
  if (menu->isEmpty()) menu->addAction(tr("(none)"))->setEnabled(false);
  menu->addSeparator();
  connect(menu->addAction(tr("Forget them")), &QAction::triggered, &recent_, &RecentFiles::clear);
}

void MainWindow::fillOverlay(QMenu* menu) {
  menu->clear();
  ViewState* state = currentState();
  const auto add = [&](const QString& text, const TrackRef& track) {
    QAction* action = menu->addAction(text);
    action->setCheckable(true);
    action->setChecked(state && state->view().overlay == track);
    action->setEnabled(state != nullptr);
    connect(action, &QAction::triggered, this, [state = QPointer<ViewState>(state), track] {
      if (state) state->setOverlay(track);
    });
  };
  add(tr("None"), {});
  for (const auto& document : documents())
    for (TrackId track : document->memoryTracks())
      if (!state || document != state->document() || track != state->view().track)
        add(QString::fromStdString(document->title() + ": " + document->trace().tracks[index(track)].name),
            {document, track});
}

void MainWindow::addUnits(QMenu* menu) {
  auto* group = new QActionGroup(this);
  for (ByteUnit unit : kByteUnits) {
    QAction* action = group->addAction(QString::fromUtf8(label(unit).data()));
    action->setCheckable(true);
    action->setChecked(unit == UnitFormat::shared().unit());
    connect(action, &QAction::triggered, this, [unit] { UnitFormat::shared().setUnit(unit); });
    connect(&UnitFormat::shared(), &UnitFormat::changed, action,
            [action, unit] { action->setChecked(unit == UnitFormat::shared().unit()); });
  }
  menu->addActions(group->actions());
}

void MainWindow::addThemes(QMenu* menu) {
  auto* group = new QActionGroup(this);
  const auto add = [&](const QString& text, Theme theme) {
    QAction* action = group->addAction(text);
    action->setCheckable(true);
    action->setChecked(theme == savedTheme());
    connect(action, &QAction::triggered, this, [theme] {
      applyTheme(theme);
      saveTheme(theme);
    });
  };
  add(tr("As the desktop"), Theme::system);
  add(tr("Light"), Theme::light);
  add(tr("Dark"), Theme::dark);
  menu->addActions(group->actions());
}

void MainWindow::openDialog() { openFiles(QFileDialog::getOpenFileNames(this, tr("Open traces"), {}, openFilter())); }

template <typename Write>
void MainWindow::save(const QString& path, Write write) {
  saving_.start(
      [write = std::move(write)](const std::stop_token&) {
        write();
        return true;
      },
      [this, path](bool) { tell(tr("Saved %1").arg(path)); }, [this](const QString& problem) { tell(problem); });
}

void MainWindow::savePicture(const QString& path) {
  const std::string file = path.toStdString();
  const Page* page = currentPage();
  if (const auto own = page ? page->picture() : std::nullopt)
    return save(path, [file, picture = *own, ratio = devicePixelRatioF()] {
      writePicture(file, picture.size, picture.paint, ratio);
    });
  const ViewState* state = currentState();
  if (!state) return tell(tr("There is no timeline in front."));
  const TimelinePicture picture{state->document(), state->view(), palette(), font()};
  const QSize size = tabs_->currentWidget()->findChild<TimelineView*>()->size();
  save(path, [=, ratio = devicePixelRatioF()] {
    writePicture(
        file, size, [&](QPainter& painter, const QSize& area) { paintTimeline(painter, area, picture); }, ratio);
  });
}

void MainWindow::savePeak(const QString& path) {
  const auto& shown = alive_->model()->table();
  if (!shown) return tell(tr("There is no timeline in front."));
  AliveQuery query = shown->query();
  if (!query.grouping) query.grouping = Attribute::name;
  query.sort = AliveColumn::bytes;
  query.descending = true;
  const bool isPeak = shown->document().events(query.track)->peak().timeNs == query.instantNs;
  save(path, [=, document = currentState()->document(), palette = palette(), font = font()] {
    const auto labels = std::make_shared<const TraceLabels>(document->sharedTrace());
    const PeakPicture picture{std::make_shared<const AliveTable>(document, labels, query), isPeak, palette, font};
    writePicture(
        path.toStdString(), {1000, 640},
        [&](QPainter& painter, const QSize& area) { paintPeak(painter, area, picture); }, 2);
  });
}

void MainWindow::saveCsv(const QString& path) {
  const std::string file = path.toStdString();
  const Page* page = currentPage();
  if (const auto csv = page ? page->tableCsv() : std::nullopt) {
    if (csv->empty()) return tell(tr("There is no table in front."));
    return save(path, [file, csv] { writeFile(file, *csv); });
  }
  const auto table = alive_->model()->table();
  if (!table) return tell(tr("There is no table in front."));
  save(path, [file, table] { writeFile(file, table->csv()); });
}

void MainWindow::pictureDialog() {
  QString filter;
  const QString path = QFileDialog::getSaveFileName(this, tr("Save view as picture"), {}, pictureFilter(), &filter);
  if (!path.isEmpty()) savePicture(withEnding(path, filter));
}

void MainWindow::peakDialog() {
  QString filter;
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save what is alive as picture"), {}, pictureFilter(), &filter);
  if (!path.isEmpty()) savePeak(withEnding(path, filter));
}

void MainWindow::csvDialog() {
  const QString filter = tr("Comma-separated values (*.csv)");
  const QString path = QFileDialog::getSaveFileName(this, tr("Save table as CSV"), {}, filter);
  if (!path.isEmpty()) saveCsv(withEnding(path, filter));
}

void MainWindow::focusFilter() {
  if (!currentState()) return;
  auto* dock = findChild<QDockWidget*>("aliveDock");
  dock->show();
  dock->raise();
  alive_->focusFilter();
}

void MainWindow::nextBands() {
  ViewState* state = currentState();
  if (!state) return;
  const size_t next = (static_cast<size_t>(state->view().categories) + 1) % kAttributes.size();
  state->setCategories(kAttributes[next]);
}

void MainWindow::keys() { showKeys(this); }

void MainWindow::about() {
  QMessageBox::about(this, tr("About MoEBlaze"),
                     tr("<b>MoEBlaze %1</b><p>Where the memory and time of Mixture-of-Experts training go.</p>"
                        "<p>Qt %2. 1 KiB is 1024 bytes, 1 kB is 1000.</p>")
                         .arg(QString::fromUtf8(kVersion), QString::fromUtf8(qVersion())));
}

}  // namespace moeblaze::gui
