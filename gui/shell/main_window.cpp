#include "gui/shell/main_window.h"

#include <QCloseEvent>
#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QLabel>
#include <QMimeData>
#include <QSettings>
#include <QStatusBar>
#include <QTabBar>
#include <QTabWidget>

#include "gui/compare/compare_page.h"
#include "gui/panels/alive_panel.h"
#include "gui/shell/document_page.h"
#include "gui/shell/start_page.h"
#include "gui/shell/view_bar.h"
#include "gui/timeline/index/time_scale.h"
#include "gui/timeline/view/timeline_view.h"
#include "gui/units/units.h"
#include "gui/whatif/what_if_page.h"

namespace moeblaze::gui {
namespace {

constexpr QSize kFirstSize(1360, 880);
constexpr int kTellMs = 8000;

QStringList localFiles(const QMimeData* data) {
  QStringList files;
  for (const QUrl& url : data->urls())
    if (url.isLocalFile()) files << url.toLocalFile();
  return files;
}

}  // namespace

MainWindow::MainWindow(QWidget* parent)
    : QMainWindow(parent),
      tabs_(new QTabWidget),
      viewBar_(new ViewBar),
      summary_(new QLabel),
      live_(new QLabel),
      unit_(new QLabel) {
  setWindowTitle(tr("MoEBlaze"));
  setAcceptDrops(true);
  resize(kFirstSize);
  tabs_->setDocumentMode(true);
  tabs_->setTabsClosable(true);
  tabs_->setMovable(true);
  setCentralWidget(tabs_);
  addToolBar(viewBar_);
  statusBar()->addPermanentWidget(live_);
  statusBar()->addPermanentWidget(summary_);
  statusBar()->addPermanentWidget(unit_);
  makePages();
  makeDocks();
  makeFileMenu();
  makeViewMenu();
  makeAnalyzeMenu();
  makeHelpMenu();
  connect(tabs_, &QTabWidget::currentChanged, this, &MainWindow::frontChanged);
  connect(tabs_, &QTabWidget::tabCloseRequested, this, &MainWindow::closeTab);
  connect(&UnitFormat::shared(), &UnitFormat::changed, this, &MainWindow::showStatus);
  restore();
  frontChanged();
}

MainWindow::~MainWindow() {
  // While the window is destroyed, the pages go first; the panels must not follow them any longer.
  for (StatePanel* panel : panels_) panel->setState(nullptr);
  viewBar_->setState(nullptr);
}

void MainWindow::makePages() {
  start_ = new StartPage(&recent_);
  connect(start_, &StartPage::openWanted, this, [this](const QString& path) { openFiles({path}); });
  connect(start_, &StartPage::dialogWanted, this, &MainWindow::openDialog);
  connect(start_, &StartPage::whatIfWanted, this, &MainWindow::showWhatIf);
  tabs_->addTab(start_, tr("Start"));
  tabs_->tabBar()->setTabButton(0, QTabBar::RightSide, nullptr);
}

void MainWindow::makeDocks() {
  setDockOptions(AnimatedDocks | AllowTabbedDocks | AllowNestedDocks);
  for (const PanelEntry& entry : panelEntries()) {
    auto* dock = new QDockWidget(tr(entry.title), this);
    dock->setObjectName(entry.dock);
    dock->setWidget(panels_.emplace_back(entry.make()));
    addDockWidget(Qt::BottomDockWidgetArea, dock);
  }
  alive_ = findChild<AlivePanel*>();
  const auto docks = findChildren<QDockWidget*>();
  for (qsizetype i = 1; i < docks.size(); ++i) tabifyDockWidget(docks[0], docks[i]);
  frontDock_ = docks[0];
  resizeDocks({docks[0]}, {kFirstSize.height() / 3}, Qt::Vertical);
  connect(alive_, &AlivePanel::csvWanted, this, &MainWindow::csvDialog);
}

Page* MainWindow::currentPage() const { return qobject_cast<Page*>(tabs_->currentWidget()); }

ViewState* MainWindow::currentState() const {
  const Page* page = currentPage();
  return page && page->document() ? page->state() : nullptr;
}

Documents MainWindow::documents() const {
  Documents all;
  const auto add = [&](const Page* page) {
    if (page && page->document()) all.push_back(page->document());
  };
  for (int i = 0; i < tabs_->count(); ++i) add(qobject_cast<DocumentPage*>(tabs_->widget(i)));
  for (const PageEntry& entry : pageEntries()) add(pages_.value(entry.type));
  return all;
}

void MainWindow::openFiles(const QStringList& paths) {
  for (const QString& path : paths) {
    const QString absolute = QFileInfo(path).absoluteFilePath();
    DocumentPage* page = nullptr;
    for (int i = 0; i < tabs_->count() && !page; ++i) {
      auto* open = qobject_cast<DocumentPage*>(tabs_->widget(i));
      if (open && open->path() == absolute) page = open;
    }
    if (!page) addPage(page = new DocumentPage(absolute));
    tabs_->setCurrentWidget(page);
  }
}

void MainWindow::addPage(DocumentPage* page) {
  const int at = tabs_->addTab(page, QFileInfo(page->path()).fileName());
  tabs_->setTabToolTip(at, page->path());
  connect(page, &DocumentPage::documentChanged, this, [this, page] {
    // Checked first, because a recording emits this often.
    if (recent_.files().value(0) != page->path()) recent_.add(page->path());
    pageChanged(page);
  });
  connect(page, &DocumentPage::liveChanged, this, &MainWindow::showStatus);
  connect(page, &DocumentPage::failed, this, [this, page](const QString& problem) {
    if (!QFileInfo::exists(page->path())) recent_.remove(page->path());
    if (tabs_->currentWidget() == page) frontChanged();
    tell(problem);
  });
  connect(page, &DocumentPage::cancelled, this, [this, page] { closeTab(tabs_->indexOf(page)); });
}

void MainWindow::pageChanged(const Page* page) {
  if (currentPage() == page) frontChanged();
  documentsChanged();
}

void MainWindow::documentsChanged() {
  for (Page* page : std::as_const(pages_)) page->setDocuments(documents());
}

void MainWindow::frontChanged() {
  ViewState* state = currentState();
  for (StatePanel* panel : panels_) panel->setState(state);
  viewBar_->setState(state);
  const Page* page = currentPage();
  const bool hasPanels = page && page->hasPanels();
  showDocks(hasPanels);
  viewBar_->setVisible(hasPanels);
  showStatus();
}

void MainWindow::showDocks(bool visible) {
  if (visible == docksVisible_) return;
  docksVisible_ = visible;
  const auto docks = findChildren<QDockWidget*>();
  if (visible) {
    for (QDockWidget* dock : hiddenDocks_) dock->show();
    if (frontDock_) frontDock_->raise();
    hiddenDocks_.clear();
    return;
  }
  for (QDockWidget* dock : docks) {
    if (dock->isHidden()) continue;
    if (!dock->visibleRegion().isEmpty()) frontDock_ = dock;
    hiddenDocks_ << dock;
  }
  for (QDockWidget* dock : hiddenDocks_) dock->hide();
}

void MainWindow::showStatus() {
  const Page* page = currentPage();
  live_->setText(page ? page->liveText() : QString());
  unit_->setText(QString::fromUtf8(label(UnitFormat::shared().unit()).data()));
  const ViewState* state = currentState();
  summary_->clear();
  if (!state || state->view().track == TrackId::none) return;
  const Document& document = *state->document();
  const MemoryEvents& events = *document.events(state->view().track);
  QString text = tr("%1 events · peak %2 · %3")
                     .arg(QString::fromStdString(countText(static_cast<int64_t>(events.size()))),
                          UnitFormat::shared().text(events.peak().bytes),
                          QString::fromStdString(durationText(document.bounds().spanNs())));
  int64_t losses = 0;
  for (const Loss& loss : document.trace().losses) losses += loss.count;
  if (losses > 0) text += tr(" · <b>%1 losses</b>").arg(QString::fromStdString(countText(losses)));
  summary_->setText(text);
}

Page* MainWindow::pageOf(const PageEntry& entry) {
  Page*& made = pages_[entry.type];
  if (made) return made;
  Page* page = made = entry.make();
  connect(page, &Page::documentChanged, this, [this, page] { pageChanged(page); });
  connect(page, &Page::csvWanted, this, &MainWindow::csvDialog);
  connect(page, &Page::compareWanted, this, [this](std::shared_ptr<const Document> document) {
    const Documents all = documents();
    compare(all.size() > 1 ? all.front() : nullptr, std::move(document));
  });
  return page;
}

void MainWindow::bringToFront(const PageEntry& entry) {
  Page* page = pageOf(entry);
  if (tabs_->indexOf(page) < 0) tabs_->addTab(page, tr(entry.title));
  tabs_->setCurrentWidget(page);
}

void MainWindow::openPage(const PageEntry& entry) {
  const ViewState* front = currentState();
  pageOf(entry)->prepare(documents(), front ? front->document() : nullptr);
  bringToFront(entry);
}

void MainWindow::showWhatIf() { openPage(entryOf(WhatIfPage::staticMetaObject)); }

void MainWindow::compare(std::shared_ptr<const Document> a, std::shared_ptr<const Document> b) {
  const PageEntry& entry = entryOf(ComparePage::staticMetaObject);
  static_cast<ComparePage*>(pageOf(entry))->compareFrom(documents(), std::move(a), std::move(b));
  bringToFront(entry);
}

WhatIfPage* MainWindow::whatIf() const { return static_cast<WhatIfPage*>(pages_.value(&WhatIfPage::staticMetaObject)); }

ComparePage* MainWindow::comparePage() const {
  return static_cast<ComparePage*>(pages_.value(&ComparePage::staticMetaObject));
}

void MainWindow::closeCurrent() { closeTab(tabs_->currentIndex()); }

void MainWindow::closeTab(int at) {
  QWidget* page = tabs_->widget(at);
  if (!page || page == start_) return;
  tabs_->removeTab(at);
  if (pages_.values().contains(page)) return;  // kept for the next time
  page->deleteLater();
  documentsChanged();
}

void MainWindow::tell(const QString& text) { statusBar()->showMessage(text, kTellMs); }

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (!localFiles(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) { openFiles(localFiles(event->mimeData())); }

void MainWindow::closeEvent(QCloseEvent* event) {
  QSettings settings;
  settings.setValue("window/geometry", saveGeometry());
  settings.setValue("units", static_cast<int>(UnitFormat::shared().unit()));
  QMainWindow::closeEvent(event);
}

void MainWindow::restore() {
  const QSettings settings;
  restoreGeometry(settings.value("window/geometry").toByteArray());
  const int unit = settings.value("units", 0).toInt();
  if (unit >= 0 && unit < static_cast<int>(kByteUnits.size()))
    UnitFormat::shared().setUnit(static_cast<ByteUnit>(unit));
}

}  // namespace moeblaze::gui
