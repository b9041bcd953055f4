#include "gui/panels/alive_panel.h"

#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QToolButton>
#include <QTreeView>
#include <QVBoxLayout>

#include "gui/parts/row_delegate.h"
#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

struct Made {
  std::shared_ptr<const TraceLabels> labels;
  std::shared_ptr<const AliveTable> table;
};

constexpr std::array<int, kAliveColumns> kWidths{320, 95, 65, 85, 150, 90, 320};

}  // namespace

AlivePanel::AlivePanel(QWidget* parent)
    : StatePanel(parent),
      title_(new QLabel),
      grouping_(new QComboBox),
      filter_(new QLineEdit),
      model_(new AliveModel(this)),
      view_(new QTreeView) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 4, 6, 4);
  addControls(layout);
  addView(layout);
  connect(&UnitFormat::shared(), &UnitFormat::changed, this, [this] {
    model_->refreshTexts();
    showTitle();
  });
  refresh();
}

void AlivePanel::addControls(QVBoxLayout* layout) {
  title_->setObjectName("aliveTitle");
  grouping_->setObjectName("grouping");
  grouping_->addItem(tr("not grouped"));
  for (Attribute attribute : kAttributes)
    grouping_->addItem(tr("by %1").arg(QString::fromUtf8(name(attribute).data())));
  grouping_->setToolTip(tr("Put allocations of the same role, name, Step or stack together"));
  filter_->setObjectName("filter");
  filter_->setPlaceholderText(tr("Filter by name, role, Step or stack  ( / )"));
  filter_->setClearButtonEnabled(true);
  filter_->installEventFilter(this);
  const auto button = [this](const QString& text, const QString& tip) {
    auto* made = new QToolButton;
    made->setText(text);
    made->setToolTip(tip);
    return made;
  };
  auto* copy = button(tr("Copy"), tr("Copy the selected rows (Ctrl+C)"));
  auto* csv = button(tr("CSV…"), tr("Save all rows as comma-separated values, sizes in bytes"));
  connect(copy, &QToolButton::clicked, this, &AlivePanel::copySelection);
  connect(csv, &QToolButton::clicked, this, &AlivePanel::csvWanted);
  auto* line = new QHBoxLayout;
  line->addWidget(title_);
  line->addStretch(1);
  line->addWidget(grouping_);
  line->addWidget(filter_);
  line->addWidget(copy);
  line->addWidget(csv);
  filter_->setMinimumWidth(250);
  layout->addLayout(line);
  connect(grouping_, &QComboBox::currentIndexChanged, this, &AlivePanel::rebuild);
  connect(filter_, &QLineEdit::textChanged, this, &AlivePanel::rebuild);
}

void AlivePanel::addView(QVBoxLayout* layout) {
  view_->setObjectName("aliveView");
  view_->setModel(model_);
  view_->setItemDelegate(new RowDelegate(view_));
  view_->setUniformRowHeights(true);  // otherwise the view would measure each of millions of rows
  view_->setAlternatingRowColors(true);
  view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  view_->setAllColumnsShowFocus(true);
  view_->installEventFilter(this);
  QHeaderView* header = view_->header();
  header->setSectionsClickable(true);
  header->setSortIndicatorShown(true);
  header->setSortIndicator(static_cast<int>(AliveColumn::bytes), Qt::DescendingOrder);
  header->setStretchLastSection(true);
  for (int column = 0; column < kAliveColumns; ++column)
    header->resizeSection(column, kWidths[static_cast<size_t>(column)]);
  layout->addWidget(view_, 1);
  connect(header, &QHeaderView::sortIndicatorChanged, this, &AlivePanel::rebuild);
  connect(view_->selectionModel(), &QItemSelectionModel::currentChanged, this, &AlivePanel::selectFromView);
}

std::vector<QMetaObject::Connection> AlivePanel::follow(ViewState* state) {
  return {connect(state, &ViewState::documentChanged, this, &AlivePanel::refresh),
          connect(state, &ViewState::tracksChanged, this, &AlivePanel::rebuild),
          connect(state, &ViewState::instantChanged, this, &AlivePanel::rebuild),
          connect(state, &ViewState::allocationChanged, this, &AlivePanel::selectFromState)};
}

void AlivePanel::refresh() {
  const bool has = state() && state()->document();
  setEnabled(has);
  if (has) return rebuild();
  job_.cancel();
  model_->setTable(nullptr);
  title_->setText(tr("Nothing is open."));
}

AliveQuery AlivePanel::query() const {
  AliveQuery query;
  query.track = state()->view().track;
  query.instantNs = instantNs();
  if (grouping_->currentIndex() > 0) query.grouping = kAttributes[static_cast<size_t>(grouping_->currentIndex() - 1)];
  query.sort = static_cast<AliveColumn>(view_->header()->sortIndicatorSection());
  query.descending = view_->header()->sortIndicatorOrder() == Qt::DescendingOrder;
  query.filter = filter_->text().toStdString();
  return query;
}

void AlivePanel::rebuild() {
  if (!state() || !state()->document()) return;
  const auto document = state()->document();
  const auto labels = labelled_ == document ? labels_ : nullptr;
  job_.start(
      [document, labels, query = query()](const std::stop_token& stop) {
        Made made{labels ? labels : std::make_shared<const TraceLabels>(document->sharedTrace()), nullptr};
        made.table = std::make_shared<const AliveTable>(document, made.labels, query, stop);
        return made;
      },
      [this, document](Made made) {
        labelled_ = document;
        labels_ = std::move(made.labels);
        showRows(std::move(made.table));
      },
      [this](const QString& problem) { title_->setText(problem); });
}

void AlivePanel::showRows(std::shared_ptr<const AliveTable> table) {
  const bool sameGroups = model_->table() && model_->table()->query().grouping == table->query().grouping;
  QSet<size_t> expanded;
  for (int group = 0; sameGroups && group < model_->rowCount(); ++group)
    if (view_->isExpanded(model_->index(group, 0)))
      expanded.insert(model_->table()->groups()[static_cast<size_t>(group)].key);
  selecting_ = true;  // the reset clears the selection, which must not count as the user's choice
  view_->setRootIsDecorated(table->query().grouping.has_value());
  model_->setTable(std::move(table));
  selecting_ = false;
  for (int group = 0; !expanded.isEmpty() && group < model_->rowCount(); ++group)
    if (expanded.contains(model_->table()->groups()[static_cast<size_t>(group)].key))
      view_->expand(model_->index(group, 0));
  showTitle();
  selectFromState();
  Q_EMIT updated();
}

void AlivePanel::showTitle() {
  const auto& table = model_->table();
  if (!table || !state()) return;
  const UnitFormat& units = UnitFormat::shared();
  const auto count = [](size_t n) { return QString::fromStdString(countText(static_cast<int64_t>(n))); };
  QString text = tr("<b>%1</b> alive in <b>%2</b> allocations %3")
                     .arg(units.text(table->allBytes()), count(table->allCount()), instantText());
  if (!table->query().filter.empty())
    text += tr(" · filter shows %1 in %2").arg(units.text(table->bytes()), count(table->rows().size()));
  title_->setText(text);
}

void AlivePanel::selectFromState() {
  if (selecting_ || !state()) return;
  const auto allocation = state()->view().allocation;
  selecting_ = true;
  const QModelIndex index = allocation ? model_->indexOf(*allocation) : QModelIndex();
  if (index.isValid()) {
    view_->setCurrentIndex(index);
    view_->scrollTo(index);
  } else {
    view_->selectionModel()->clear();
  }
  selecting_ = false;
}

void AlivePanel::selectFromView() {
  if (selecting_ || !state()) return;
  selecting_ = true;
  if (const auto allocation = model_->allocationAt(view_->currentIndex())) state()->setAllocation(allocation);
  selecting_ = false;
}

void AlivePanel::focusFilter() {
  filter_->setFocus(Qt::ShortcutFocusReason);
  filter_->selectAll();
}

void AlivePanel::copySelection() const {
  QModelIndexList rows = view_->selectionModel()->selectedRows();
  QApplication::clipboard()->setText(model_->text(rows));
}

std::string AlivePanel::csv() const { return model_->table() ? model_->table()->csv() : std::string(); }

bool AlivePanel::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    auto* key = static_cast<QKeyEvent*>(event);
    if (watched == view_ && key->matches(QKeySequence::Copy)) {
      copySelection();
      return true;
    }
    if (watched == filter_ && key->key() == Qt::Key_Escape) {
      filter_->clear();
      view_->setFocus();
      return true;
    }
  }
  return StatePanel::eventFilter(watched, event);
}

}  // namespace moeblaze::gui
