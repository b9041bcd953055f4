#include "gui/shell/view_bar.h"

#include <QAction>
#include <QActionGroup>
#include <QComboBox>
#include <QLabel>
#include <algorithm>

namespace moeblaze::gui {
namespace {

struct PaneName {
  const char *name, *tip;
};
constexpr std::array<PaneName, kPanes> kPaneNames{{
    {"Memory", "Bytes alive over time, in bands; reserved: what the allocator took from the device"},
    {"Allocations", "Each allocation of its own, stacked: the largest ones in the window"},
    {"Addresses", "Where allocations lie in the device's memory: gaps are fragmentation"},
    {"Steps", "What ran: Steps, kernels, annotations"},
}};

}  // namespace

ViewBar::ViewBar(QWidget* parent) : QToolBar(tr("View"), parent) {
  setObjectName("viewBar");
  setMovable(false);
  setToolButtonStyle(Qt::ToolButtonTextOnly);
  addMoves();
  addSeparator();
  addTracks();
  addBands();
  addSeparator();
  addPanes();
  setState(nullptr);
}

QAction* ViewBar::addMove(const QString& text, const QString& tip, const QKeySequence& key, void (*act)(ViewState&)) {
  QAction* action = addAction(text);
  action->setShortcut(key);
  action->setToolTip(QString("%1 (%2)").arg(tip, key.toString(QKeySequence::NativeText)));
  connect(action, &QAction::triggered, this, [this, act] {
    if (state_) act(*state_);
  });
  moves_ << action;
  return action;
}

void ViewBar::addMoves() {
  undo_ = addMove(tr("↶ Undo"), tr("Back to the view before"), QKeySequence::Undo, [](ViewState& s) { s.undo(); });
  redo_ = addMove(tr("↷ Redo"), tr("Forward again"), QKeySequence::Redo, [](ViewState& s) { s.redo(); });
  addMove(tr("Fit"), tr("Show the selected range, or everything"), Qt::Key_F, [](ViewState& s) { s.fit(); });
  addMove(tr("Peak"), tr("Go to the instant of the most bytes"), Qt::Key_M, [](ViewState& s) { s.goToPeak(); });
  addMove(tr("‹ Event"), tr("Previous instant at which memory changed"), Qt::Key_BracketLeft,
          [](ViewState& s) { s.stepEvent(-1); });
  addMove(tr("Event ›"), tr("Next instant at which memory changed"), Qt::Key_BracketRight,
          [](ViewState& s) { s.stepEvent(1); });
}

void ViewBar::addTracks() {
  tracks_ = new QComboBox;
  tracks_->setObjectName("tracks");
  tracks_->setToolTip(tr("Whose memory is shown"));
  tracks_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
  tracks_->setMaximumWidth(260);
  addWidget(tracks_);
  connect(tracks_, &QComboBox::currentIndexChanged, this, [this](int at) {
    if (!syncing_ && state_ && at >= 0) state_->setTrack(state_->document()->memoryTracks()[static_cast<size_t>(at)]);
  });
}

void ViewBar::addBands() {
  auto* group = new QActionGroup(this);
  bandBox_ = new QComboBox;
  bandBox_->setObjectName("bands");
  bandBox_->setToolTip(tr("What the bands of the memory curve tell apart"));
  for (Attribute attribute : kAttributes) {
    const QString text = tr("by %1").arg(QString::fromUtf8(name(attribute).data()).toLower());
    bandBox_->addItem(text);
    auto* action = new QAction(text, group);
    action->setCheckable(true);
    connect(action, &QAction::triggered, this, [this, attribute] {
      if (state_) state_->setCategories(attribute);
    });
    bands_ << action;
  }
  addWidget(bandBox_);
  connect(bandBox_, &QComboBox::currentIndexChanged, this, [this](int at) {
    if (!syncing_ && state_ && at >= 0) state_->setCategories(kAttributes[static_cast<size_t>(at)]);
  });
}

void ViewBar::addPanes() {
  for (size_t i = 0; i < kPanes; ++i) {
    QAction* action = addAction(tr(kPaneNames[i].name));
    action->setCheckable(true);
    action->setToolTip(tr(kPaneNames[i].tip));
    action->setObjectName(QString("pane%1").arg(i));
    connect(action, &QAction::triggered, this, [this, i](bool visible) {
      if (state_) state_->setPaneVisible(static_cast<Pane>(i), visible);
    });
    panes_ << action;
  }
}

void ViewBar::setState(ViewState* state) {
  for (const QMetaObject::Connection& connection : connections_) disconnect(connection);
  connections_.clear();
  state_ = state;
  setEnabled(state != nullptr);
  for (const QList<QAction*>& list : {moves_, panes_, bands_})
    for (QAction* action : list) action->setEnabled(state != nullptr);
  if (state)
    connections_ = {connect(state, &ViewState::changed, this, &ViewBar::sync),
                    connect(state, &ViewState::documentChanged, this, &ViewBar::syncTracks),
                    connect(state, &ViewState::historyChanged, this, &ViewBar::sync)};
  syncTracks();
}

void ViewBar::syncTracks() {
  syncing_ = true;
  tracks_->clear();
  if (state_ && state_->document())
    for (TrackId track : state_->document()->memoryTracks())
      tracks_->addItem(QString::fromStdString(state_->document()->trace().tracks[index(track)].name));
  syncing_ = false;
  sync();
}

void ViewBar::sync() {
  if (!state_ || !state_->document()) return;
  const View& view = state_->view();
  syncing_ = true;
  const auto tracks = state_->document()->memoryTracks();
  tracks_->setCurrentIndex(static_cast<int>(std::ranges::find(tracks, view.track) - tracks.begin()));
  tracks_->setEnabled(tracks.size() > 1);
  bandBox_->setCurrentIndex(static_cast<int>(view.categories));
  bands_[static_cast<int>(view.categories)]->setChecked(true);
  for (size_t i = 0; i < kPanes; ++i) panes_[static_cast<int>(i)]->setChecked(view.panes[i]);
  undo_->setEnabled(state_->canUndo());
  redo_->setEnabled(state_->canRedo());
  syncing_ = false;
}

}  // namespace moeblaze::gui
