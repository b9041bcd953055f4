#include "gui/panels/flame_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QScrollArea>
#include <QToolButton>
#include <QVBoxLayout>

#include "gui/panels/flame_view.h"
#include "gui/units/units.h"

namespace moeblaze::gui {

FlamePanel::FlamePanel(QWidget* parent)
    : StatePanel(parent),
      title_(new QLabel),
      message_(new QLabel),
      search_(new QLineEdit),
      scroll_(new QScrollArea),
      view_(new FlameView) {
  title_->setObjectName("flameTitle");
  message_->setAlignment(Qt::AlignCenter);
  message_->setWordWrap(true);
  search_->setObjectName("flameSearch");
  search_->setPlaceholderText(tr("Search functions and files"));
  search_->setClearButtonEnabled(true);
  search_->setMinimumWidth(220);
  auto* whole = new QToolButton;
  whole->setText(tr("All"));
  whole->setToolTip(tr("Back to the whole graph (Esc)"));
  scroll_->setWidget(view_);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  auto* line = new QHBoxLayout;
  line->addWidget(title_, 1);
  line->addWidget(search_);
  line->addWidget(whole);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 4, 6, 4);
  layout->addLayout(line);
  layout->addWidget(scroll_, 1);
  layout->addWidget(message_, 1);
  connect(search_, &QLineEdit::textChanged, this, &FlamePanel::search);
  connect(whole, &QToolButton::clicked, view_, [this] { view_->zoomTo(0); });
  connect(view_, &FlameView::hovered, this,
          [this](const QString& text) { title_->setText(text.isEmpty() ? summary_ : text); });
  refresh();
}

std::vector<QMetaObject::Connection> FlamePanel::follow(ViewState* state) {
  return {connect(state, &ViewState::documentChanged, this, &FlamePanel::refresh),
          connect(state, &ViewState::tracksChanged, this, &FlamePanel::rebuild),
          connect(state, &ViewState::instantChanged, this, &FlamePanel::rebuild)};
}

void FlamePanel::refresh() {
  const bool has = state() && state()->document();
  setEnabled(has);
  if (has) return rebuild();
  job_.cancel();
  showTree(nullptr);
}

void FlamePanel::showEvent(QShowEvent* event) {
  StatePanel::showEvent(event);
  if (isStale_) rebuild();
}

void FlamePanel::rebuild() {
  if (!state() || !state()->document()) return;
  isStale_ = !isVisible();
  if (isStale_) return;
  const auto document = state()->document();
  job_.start(
      [document, track = state()->view().track, instant = instantNs()](const std::stop_token& stop) {
        std::vector<size_t> live;
        if (track != TrackId::none) live = document->events(track)->liveAt(instant);
        return std::make_shared<const FlameTree>(document->trace(), live, stop);
      },
      [this](std::shared_ptr<const FlameTree> tree) { showTree(std::move(tree)); },
      [this](const QString& problem) { title_->setText(problem); });
}

void FlamePanel::showTree(std::shared_ptr<const FlameTree> tree) {
  const bool hasGraph = tree && !tree->empty();
  scroll_->setVisible(hasGraph);
  message_->setVisible(!hasGraph);
  search_->setEnabled(hasGraph);
  summary_.clear();
  if (hasGraph) {
    summary_ = tr("<b>%1</b> by call stack, %2").arg(UnitFormat::shared().text(tree->nodes()[0].bytes), instantText());
    if (tree->stacklessBytes() > 0)
      summary_ += tr(" · %1 more without a stack").arg(UnitFormat::shared().text(tree->stacklessBytes()));
  }
  message_->setText(!tree ? tr("Nothing is open.")
                          : tr("Nothing that is alive at this instant has a call stack.\nPyTorch records them with "
                               "torch.cuda.memory._record_memory_history()."));
  view_->setTree(std::move(tree));
  title_->setText(summary_);
  search();
  Q_EMIT updated();
}

void FlamePanel::search() {
  const int64_t bytes = view_->setSearch(search_->text());
  if (!search_->text().isEmpty())
    title_->setText(tr("%1 match '%2'").arg(UnitFormat::shared().text(bytes), search_->text().toHtmlEscaped()));
  else
    title_->setText(summary_);
}

}  // namespace moeblaze::gui
