#include "gui/shell/document_page.h"

#include <QFileInfo>
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "gui/document/swap_document.h"
#include "gui/live/live_source.h"
#include "gui/open/open_document.h"
#include "gui/timeline/view/timeline_view.h"

namespace moeblaze::gui {
namespace {

constexpr int kProgressSteps = 1000;
constexpr qint64 kQuietMs = 5000;
enum Part { kLoading, kFailed, kReady };

}  // namespace

DocumentPage::DocumentPage(QString path, QWidget* parent)
    : Page(parent),
      path_(std::move(path)),
      state_(new ViewState(this)),
      timeline_(new TimelineView(state_)),
      stack_(new QStackedWidget) {
  stack_->addWidget(makeLoading());
  stack_->addWidget(makeFailed());
  stack_->addWidget(timeline_);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(stack_);
  load();
}

DocumentPage::~DocumentPage() = default;

QWidget* DocumentPage::makeLoading() {
  auto* page = new QWidget;
  progress_ = new QProgressBar;
  progress_->setRange(0, kProgressSteps);
  progress_->setMaximumWidth(420);
  auto* cancel = new QPushButton(tr("Cancel"));
  cancel->setObjectName("cancelLoading");
  connect(cancel, &QPushButton::clicked, this, [this] {
    job_.cancel();
    Q_EMIT cancelled();
  });
  auto* layout = new QVBoxLayout(page);
  layout->addStretch(1);
  layout->addWidget(new QLabel(tr("Reading %1…").arg(QFileInfo(path_).fileName())), 0, Qt::AlignHCenter);
  layout->addWidget(progress_, 0, Qt::AlignHCenter);
  layout->addWidget(cancel, 0, Qt::AlignHCenter);
  layout->addStretch(1);
  progress_->setMinimumWidth(320);
  return page;
}

QWidget* DocumentPage::makeFailed() {
  auto* page = new QWidget;
  problem_ = new QLabel;
  problem_->setObjectName("problem");
  problem_->setWordWrap(true);
  problem_->setAlignment(Qt::AlignCenter);
  problem_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  auto* again = new QPushButton(tr("Try again"));
  connect(again, &QPushButton::clicked, this, &DocumentPage::load);
  auto* layout = new QVBoxLayout(page);
  layout->setContentsMargins(48, 24, 48, 24);
  layout->addStretch(1);
  layout->addWidget(problem_);
  layout->addWidget(again, 0, Qt::AlignHCenter);
  layout->addStretch(1);
  return page;
}

void DocumentPage::load() {
  stack_->setCurrentIndex(kLoading);
  progress_->setValue(0);
  const QPointer<QObject> guard(this);
  const auto report = [this, guard, shown = -1](double fraction) mutable {
    const int value = static_cast<int>(fraction * kProgressSteps);
    if (std::exchange(shown, value) == value) return;  // one queued call for every record would block the window
    LatestJob::post(guard, [this, value] { progress_->setValue(value); });
  };
  job_.start(
      [path = path_.toStdString(), report](const std::stop_token& stop) {
        Opened opened;
        // Asked before reading, so that what is written meanwhile is not missed.
        opened.isRecording = isRecording(path);
        opened.document = openDocument(path, {report, stop});
        return opened;
      },
      [this](Opened opened) { showOpened(std::move(opened)); },
      [this](const QString& problem) { showFailure(problem); });
}

void DocumentPage::showOpened(Opened opened) {
  state_->setDocument(std::move(opened.document));
  stack_->setCurrentIndex(kReady);
  timeline_->setFocus();
  if (opened.isRecording) follow();
  Q_EMIT documentChanged();
}

void DocumentPage::showFailure(const QString& problem) {
  problem_->setText(problem);
  stack_->setCurrentIndex(kFailed);
  Q_EMIT failed(problem);
}

void DocumentPage::follow() {
  live_ = new LiveSource(path_.toStdString(), this);
  connect(live_, &LiveSource::grew, this, &DocumentPage::grow);
  for (auto signal : {&LiveSource::finished, &LiveSource::quiet})
    connect(live_, signal, this, &DocumentPage::liveChanged);
  connect(live_, &LiveSource::failed, this, &DocumentPage::failed);
  live_->start();
  Q_EMIT liveChanged();
}

void DocumentPage::grow(const std::shared_ptr<const Document>& document) {
  // A window at the end of the trace stays at its end, and a window elsewhere stays in its place.
  const bool seesAll = state_->view().window == state_->document()->bounds();
  const bool seesEnd = state_->view().window.endNs >= state_->document()->bounds().endNs;
  swapDocument(*state_, document, seesAll ? Follow::all : seesEnd ? Follow::end : Follow::still, true);
  Q_EMIT documentChanged();
  Q_EMIT liveChanged();
}

QString DocumentPage::liveText() const {
  if (!live_) return {};
  if (live_->isFinished()) return tr("finished");
  const qint64 quiet = live_->quietMs();
  return quiet < kQuietMs ? tr("● recording") : tr("● recording; nothing new for %1 s").arg(quiet / 1000);
}

}  // namespace moeblaze::gui
