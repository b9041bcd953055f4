#include "gui/whatif/what_if_page.h"

#include <fmt/format.h>

#include <QElapsedTimer>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QMessageBox>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include "core/base/error.h"
#include "gui/document/swap_document.h"
#include "gui/timeline/view/timeline_view.h"
#include "gui/units/units.h"
#include "gui/whatif/what_if_fields.h"
#include "traces/store/store.h"

namespace moeblaze::gui {
namespace {

constexpr int kFieldsWidth = 350;

QString text(const std::string& words) { return QString::fromStdString(words); }

std::string titleOf(const Simulation& s) { return fmt::format("{} · {}", s.plan.config.name, s.plan.system); }

}  // namespace

WhatIfPage::WhatIfPage(QWidget* parent)
    : Page(parent), fields_(new WhatIfFields), state_(new ViewState(this)), timeline_(new TimelineView(state_)) {
  auto* scroll = new QScrollArea;
  scroll->setWidget(fields_);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  scroll->setFixedWidth(kFieldsWidth);
  auto* layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(scroll);
  layout->addWidget(makeResults(), 1);
  connect(fields_, &WhatIfFields::changed, this, &WhatIfPage::recompute);
  connect(fields_, &WhatIfFields::reloadWanted, this, [this] {
    {
      const std::scoped_lock lock(engine_->mutex);
      engine_->whatIf.reload();
    }
    recompute();
  });
  connect(&UnitFormat::shared(), &UnitFormat::changed, this, [this] {
    if (answer_) showFigures(*answer_), showFit(*answer_), findMostTokens();
  });
  recompute();
}

WhatIfPage::~WhatIfPage() = default;

QWidget* WhatIfPage::makeResults() {
  auto* results = new QWidget;
  auto* layout = new QVBoxLayout(results);
  figures_ = new QLabel;
  figures_->setObjectName("figures");
  figures_->setTextFormat(Qt::RichText);
  figures_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  fit_ = new QLabel;
  fit_->setObjectName("fit");
  most_ = new QLabel;
  most_->setObjectName("mostTokens");
  compare_ = new QPushButton(tr("Compare with…"));
  compare_->setObjectName("compare");
  compare_->setToolTip(tr("Put this timeline beside another trace"));
  save_ = new QPushButton(tr("Save as .mbtrace…"));
  connect(compare_, &QPushButton::clicked, this, [this] {
    if (document()) Q_EMIT compareWanted(document());
  });
  connect(save_, &QPushButton::clicked, this, &WhatIfPage::save);
  auto* top = new QHBoxLayout;
  top->addWidget(fit_);
  top->addWidget(most_, 1);
  top->addWidget(compare_);
  top->addWidget(save_);
  layout->addLayout(top);
  layout->addWidget(figures_);
  layout->addWidget(timeline_, 1);
  return results;
}

void WhatIfPage::recompute() {
  searching_.cancel();
  // A running update is not restarted, because nothing would ever be shown while a slider moves.
  again_ = updating_.isRunning();
  if (again_) return;
  QElapsedTimer timer;
  timer.start();
  updating_.start(
      [engine = engine_, inputs = fields_->inputs()](const std::stop_token& stop) {
        const std::scoped_lock lock(engine->mutex);
        Update update{engine->whatIf.evaluate(inputs), nullptr};
        if (const auto& answer = update.result.answer)
          update.document = makeDocument(answer->trace, titleOf(answer->simulation), {{}, stop});
        return update;
      },
      [this, timer](Update update) {
        showUpdate(std::move(update));
        lastUpdateMs_ = static_cast<double>(timer.nsecsElapsed()) / 1e6;
        Q_EMIT updated();
        Q_EMIT documentChanged();
        if (again_) recompute();
      },
      [this](const QString& problem) { fit_->setText(problem); });
}

void WhatIfPage::showUpdate(Update update) {
  fields_->showProblem(update.result.problem);
  const bool hasAnswer = update.result.answer.has_value();
  timeline_->setEnabled(hasAnswer);
  figures_->setEnabled(hasAnswer);
  compare_->setEnabled(hasAnswer);
  save_->setEnabled(hasAnswer);
  if (!hasAnswer) {
    fit_->setText(tr("The fields at the left need attention; the timeline is that of the last answer."));
    most_->clear();
    return;
  }
  answer_ = std::move(update.result.answer);
  fields_->showOwnTokens(answer_->tokens);
  swapDocument(*state_, update.document, Follow::all, false);
  showFigures(*answer_);
  showFit(*answer_);
  if (!again_) findMostTokens();
}

void WhatIfPage::showFigures(const WhatIfAnswer& answer) {
  const Simulation& s = answer.simulation;
  const UnitFormat& units = UnitFormat::shared();
  struct Figure {
    const char *name, *meaning;
    QString value;
  };
  const Figure figures[] = {
      {"peak", "most alive at once above parameters, x and the output gradient", units.text(s.memory.peak)},
      {"saved", "held from the end of forward for backward", units.text(s.memory.saved)},
      {"workspace", "library scratch, most at once", units.text(s.memory.workspace)},
      {"parameters", "and as much again for their gradients", units.text(s.weightBytes)},
      {"forward", "predicted", text(fmt::format("{:.3f} ms", static_cast<double>(s.forwardNs) / 1e6))},
      {"backward", "predicted", text(fmt::format("{:.3f} ms", static_cast<double>(s.backwardNs) / 1e6))},
      {"forward speed", "predicted", text(fmt::format("{:.0f} TFLOP/s", s.forwardTflops()))},
      {"busiest expert", "its tokens over the mean", text(fmt::format("{:.2f}×", answer.imbalance))},
  };
  QString names, values;
  QStringList tips;
  for (const Figure& figure : figures) {
    names += QString("<td style='padding-right:22px; color:gray'>%1</td>").arg(figure.name);
    values += QString("<td style='padding-right:22px'><b>%1</b></td>").arg(figure.value);
    tips << QString("%1: %2").arg(figure.name, figure.meaning);
  }
  figures_->setText(QString("<table cellspacing='0'><tr>%1</tr><tr>%2</tr></table>").arg(names, values));
  figures_->setToolTip(tips.join('\n'));
}

void WhatIfPage::showFit(const WhatIfAnswer& answer) {
  const UnitFormat& units = UnitFormat::shared();
  const int64_t left = answer.budgetBytes - answer.neededBytes;
  fit_->setText(answer.fits()
                    ? tr("<b>Fits in %1</b>: needs %2, %3 left.")
                          .arg(units.text(answer.budgetBytes), units.text(answer.neededBytes), units.text(left))
                    : tr("<b style='color:#d2453d'>Does not fit in %1</b>: needs %2, %3 more.")
                          .arg(units.text(answer.budgetBytes), units.text(answer.neededBytes), units.text(-left)));
  fit_->setToolTip(tr("Peak, parameters and parameter gradients together"));
}

void WhatIfPage::findMostTokens() {
  most_->clear();
  searching_.start(
      [inputs = fields_->inputs()](const std::stop_token& stop) {
        WhatIf own;  // an object of its own, so that the search does not delay the sliders
        return own.mostTokens(inputs, stop);
      },
      [this](std::optional<int64_t> tokens) {
        if (tokens) most_->setText(tr("Up to %1 tokens would.").arg(text(countText(*tokens))));
      },
      [](const QString&) {});
}

void WhatIfPage::save() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Save the planned timeline"), {}, tr("Traces (*.mbtrace)"));
  if (path.isEmpty() || !answer_) return;
  try {
    writeTrace(answer_->trace, path.toStdString());
  } catch (const InputError& error) {
    QMessageBox::warning(this, tr("Not saved"), QString::fromStdString(error.what()));
  }
}

}  // namespace moeblaze::gui
