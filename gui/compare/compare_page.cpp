#include "gui/compare/compare_page.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QSignalBlocker>
#include <QSplitter>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "gui/compare/compare_view.h"
#include "gui/compare/difference_model.h"
#include "gui/parts/row_delegate.h"
#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

constexpr int kNumberWidth = 118;

QComboBox* traceBox(const QString& name) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  box->setMinimumContentsLength(24);
  return box;
}

QToolButton* button(const QString& text, const QString& tip) {
  auto* made = new QToolButton;
  made->setText(text);
  made->setToolTip(tip);
  return made;
}

}  // namespace

ComparePage::ComparePage(QWidget* parent)
    : Page(parent),
      a_(traceBox("compareA")),
      b_(traceBox("compareB")),
      alignment_(new QComboBox),
      attribute_(new QComboBox),
      summary_(new QLabel),
      view_(new CompareView),
      model_(new DifferenceModel(this)),
      table_(new QTableView) {
  auto* splitter = new QSplitter(Qt::Vertical);
  splitter->addWidget(view_);
  splitter->addWidget(makeTable());
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  auto* layout = new QVBoxLayout(this);
  layout->addWidget(makeTop());
  layout->addWidget(splitter, 1);
  for (QComboBox* box : {a_, b_, alignment_})
    connect(box, &QComboBox::currentIndexChanged, this, &ComparePage::compare);
  connect(attribute_, &QComboBox::currentIndexChanged, this, &ComparePage::showTable);
  connect(&UnitFormat::shared(), &UnitFormat::changed, this, [this] {
    model_->refreshTexts();
    showSummary();
  });
  showSummary();
}

QWidget* ComparePage::makeTop() {
  alignment_->setObjectName("alignment");
  alignment_->addItems({tr("aligned by time"), tr("aligned by Step")});
  alignment_->setToolTip(
      tr("By time: both from their first event, at the same pace. By Step: Steps (else other spans) "
         "of the same name begin together"));
  auto* swap = button("⇄", tr("Swap A and B"));
  connect(swap, &QToolButton::clicked, this, [this] { choose(chosen(b_), chosen(a_)); });
  summary_->setObjectName("compareSummary");
  auto* top = new QWidget;
  auto* layout = new QHBoxLayout(top);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(new QLabel(tr("A")));
  layout->addWidget(a_);
  layout->addWidget(swap);
  layout->addWidget(new QLabel(tr("B")));
  layout->addWidget(b_);
  layout->addWidget(alignment_);
  layout->addWidget(summary_, 1);
  return top;
}

QWidget* ComparePage::makeTable() {
  attribute_->setObjectName("differencesBy");
  attribute_->addItems({tr("by name"), tr("by role")});
  auto* csv = button(tr("CSV…"), tr("Save the table as comma-separated values, sizes in bytes"));
  connect(csv, &QToolButton::clicked, this, &ComparePage::csvWanted);
  table_->setObjectName("differences");
  table_->setModel(model_);
  table_->setItemDelegate(new RowDelegate(table_));
  table_->setSortingEnabled(true);
  table_->sortByColumn(DifferenceModel::kDelta, Qt::DescendingOrder);
  table_->setAlternatingRowColors(true);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setShowGrid(false);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setSectionResizeMode(DifferenceModel::kWhat, QHeaderView::Stretch);
  table_->verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
  for (int column = DifferenceModel::kDelta; column < DifferenceModel::kColumns; ++column)
    table_->setColumnWidth(column, kNumberWidth);
  auto* line = new QHBoxLayout;
  line->addWidget(new QLabel(tr("<b>What differs</b>, worst first")));
  line->addStretch(1);
  line->addWidget(attribute_);
  line->addWidget(csv);
  auto* whole = new QWidget;
  auto* layout = new QVBoxLayout(whole);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addLayout(line);
  layout->addWidget(table_, 1);
  return whole;
}

Attribute ComparePage::attribute() const { return attribute_->currentIndex() == 1 ? Attribute::role : Attribute::name; }

std::shared_ptr<const Document> ComparePage::chosen(const QComboBox* box) const {
  const int at = box->currentIndex();
  return at >= 0 && at < std::ssize(documents_) ? documents_[static_cast<size_t>(at)] : nullptr;
}

void ComparePage::setDocuments(const Documents& documents) {
  const auto a = chosen(a_), b = chosen(b_);
  documents_ = documents;
  std::erase_if(documents_, [](const auto& document) { return document->mainTrack() == TrackId::none; });
  for (QComboBox* box : {a_, b_}) {
    const QSignalBlocker blocker(box);
    box->clear();
    for (const auto& document : documents_) box->addItem(QString::fromStdString(document->title()));
  }
  const auto has = [&](const auto& document) { return std::ranges::find(documents_, document) != documents_.end(); };
  const auto first = documents_.empty() ? nullptr : documents_.front();
  const auto last = documents_.empty() ? nullptr : documents_.back();
  choose(has(a) ? a : first, has(b) ? b : last);
}

void ComparePage::choose(const std::shared_ptr<const Document>& a, const std::shared_ptr<const Document>& b) {
  const auto select = [&](QComboBox* box, const auto& document) {
    const QSignalBlocker blocker(box);
    const auto found = std::ranges::find(documents_, document);
    box->setCurrentIndex(found == documents_.end() ? -1 : static_cast<int>(found - documents_.begin()));
  };
  select(a_, a);
  select(b_, b);
  compare();
}

void ComparePage::compareFrom(const Documents& open, std::shared_ptr<const Document> a,
                              std::shared_ptr<const Document> b) {
  setDocuments(open);
  if (!a && !open.empty()) a = open.front();
  if (!b && !open.empty()) b = open.back();
  choose(a, b);
}

void ComparePage::prepare(const Documents& open, const std::shared_ptr<const Document>& front) {
  const auto other = std::ranges::find_if(open, [&](const auto& document) { return document != front; });
  compareFrom(open, front, other == open.end() ? nullptr : *other);
}

void ComparePage::setAlignment(Alignment alignment) { alignment_->setCurrentIndex(static_cast<int>(alignment)); }

void ComparePage::compare() {
  const auto a = chosen(a_), b = chosen(b_);
  if (!a || !b) return showComparison(nullptr);
  summary_->setText(tr("Comparing…"));
  job_.start(
      [a, b, alignment = static_cast<Alignment>(alignment_->currentIndex())](const std::stop_token& stop) {
        return std::make_shared<const Comparison>(ComparedTrack{a, a->mainTrack()}, ComparedTrack{b, b->mainTrack()},
                                                  alignment, stop);
      },
      [this](std::shared_ptr<const Comparison> comparison) { showComparison(std::move(comparison)); },
      [this](const QString& problem) { summary_->setText(problem); });
}

void ComparePage::showComparison(std::shared_ptr<const Comparison> comparison) {
  comparison_ = std::move(comparison);
  view_->setComparison(comparison_);
  showTable();
  showSummary();
  Q_EMIT updated();
}

void ComparePage::showTable() { model_->setComparison(comparison_, attribute()); }

void ComparePage::showSummary() {
  if (!comparison_) {
    summary_->setText(tr("Open two traces to compare them."));
    return;
  }
  const UnitFormat& units = UnitFormat::shared();
  const int64_t a = comparison_->aPeak().bytes, b = comparison_->bPeak().bytes;
  QString text = tr("Peak %1 → %2, <b>%3</b>").arg(units.text(a), units.text(b), units.delta(b - a));
  if (a > 0)
    text += QString(" (%1%2 %)")
                .arg(b > a ? "+" : "")
                .arg(100.0 * static_cast<double>(b - a) / static_cast<double>(a), 0, 'f', 1);
  if (comparison_->alignment() == Alignment::step)
    text += tr(" · %1 common Steps").arg(comparison_->steps());
  else if (alignment_->currentIndex() == static_cast<int>(Alignment::step))
    text += tr(" · no common Steps: aligned by time");
  summary_->setText(text);
}

std::optional<PagePicture> ComparePage::picture() const {
  return PagePicture{
      [picture = view_->picture()](QPainter& painter, const QSize& size) { paintComparison(painter, size, picture); },
      view_->size()};
}

std::optional<std::string> ComparePage::tableCsv() const {
  return comparison_ ? comparison_->csv(attribute()) : std::string();
}

}  // namespace moeblaze::gui
