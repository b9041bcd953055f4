#include "gui/whatif/what_if_fields.h"

#include <fmt/format.h>

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFileDialog>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <QVBoxLayout>
#include <algorithm>
#include <bit>
#include <cmath>

#include "core/systems/system.h"
#include "gui/whatif/log_scale.h"
#include "simulator/cost/machine.h"

namespace moeblaze::gui {
namespace {

constexpr int kSkewSteps = 20;  // steps of the slider for an alpha of 1
constexpr double kMaxSkew = 3;
enum RoutingKind { kBalanced, kZipf, kFile };

QComboBox* editableBox(const QString& name, const QString& tip) {
  auto* box = new QComboBox;
  box->setObjectName(name);
  box->setEditable(true);
  box->setInsertPolicy(QComboBox::NoInsert);
  box->setToolTip(tip);
  box->setMinimumContentsLength(14);
  box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  return box;
}

QWidget* row(std::initializer_list<QWidget*> widgets) {
  auto* line = new QWidget;
  auto* layout = new QHBoxLayout(line);
  layout->setContentsMargins(0, 0, 0, 0);
  for (QWidget* widget : widgets) layout->addWidget(widget);
  return line;
}

/// Rounds to a multiple of a power of two that is smaller than a step of the slider: numbers as people choose them.
int roundTokens(double tokens) {
  const auto grain = static_cast<int>(std::bit_floor(static_cast<unsigned>(std::max(1.0, tokens / 32))));
  return static_cast<int>(std::lround(tokens / grain)) * grain;
}

QString dim(const std::string& text) { return QString::fromStdString(text); }

}  // namespace

WhatIfFields::WhatIfFields(QWidget* parent) : QWidget(parent) {
  auto* form = new QVBoxLayout(this);
  form->setSpacing(4);
  addConfig(form);
  addTokens(form);
  addSystem(form);
  addRouting(form);
  addGpu(form);
  addBudget(form);
  form->addStretch(1);
  showRouting();
  showParameters();
}

void WhatIfFields::addRow(QVBoxLayout* form, const QString& label, QWidget* field, WhatIfField problem) {
  if (form->count() > 0) form->addSpacing(8);
  form->addWidget(new QLabel(label));
  form->addWidget(field);
  auto* text = problems_[static_cast<size_t>(problem)] = new QLabel;
  text->setObjectName(QString("problem%1").arg(static_cast<int>(problem)));
  text->setWordWrap(true);
  text->setTextInteractionFlags(Qt::TextSelectableByMouse);
  text->setStyleSheet("color: #d2453d;");
  text->hide();
  form->addWidget(text);
}

QWidget* WhatIfFields::withBrowse(QComboBox* box, const QString& title, const QString& filter) {
  auto* browse = new QPushButton(tr("Browse…"));
  connect(browse, &QPushButton::clicked, this, [=, this] {
    const QString path = QFileDialog::getOpenFileName(this, title, {}, filter);
    if (!path.isEmpty()) box->setEditText(path);
  });
  connect(box, &QComboBox::currentTextChanged, this, &WhatIfFields::emitChanged);
  connect(box->lineEdit(), &QLineEdit::returnPressed, this, &WhatIfFields::reloadWanted);
  auto* line = row({box, browse});
  qobject_cast<QHBoxLayout*>(line->layout())->setStretch(0, 1);
  return line;
}

void WhatIfFields::addConfig(QVBoxLayout* form) {
  config_ = editableBox("config", tr("The MoE layer: a built-in name, a JSON file with d_model, d_ff, experts, top_k "
                                     "and tokens, or a Hugging Face config.json"));
  for (const ConfigSource& source : namedConfigs()) {
    const MoeConfig& c = source.layer;
    config_->addItem(QString::fromStdString(c.name));
    config_->setItemData(
        config_->count() - 1,
        dim(fmt::format("d_model {}, d_ff {}, {} experts, top_k {}", c.dModel, c.dFf, c.experts, c.topK)),
        Qt::ToolTipRole);
  }
  config_->setCurrentText("conf3");
  addRow(form, tr("Layer"),
         withBrowse(config_, tr("Config of a layer or model"), tr("Configs (*.json);;All files (*)")),
         WhatIfField::config);
  connect(config_, &QComboBox::currentTextChanged, this, [this] { tokensChosen_ = false; });
}

void WhatIfFields::addTokens(QVBoxLayout* form) {
  tokensSlider_ = new QSlider(Qt::Horizontal);
  tokensSlider_->setObjectName("tokensSlider");
  tokensSlider_->setRange(0, kTokenScale.steps);
  tokens_ = new QSpinBox;
  tokens_->setObjectName("tokens");
  tokens_->setRange(1, static_cast<int>(kMaxRows));
  tokens_->setGroupSeparatorShown(true);
  tokens_->setKeyboardTracking(false);
  tokens_->setToolTip(tr("Tokens in a step: batch × sequence length"));
  connect(tokensSlider_, &QSlider::valueChanged, this,
          [this](int step) { tokens_->setValue(roundTokens(static_cast<double>(kTokenScale.valueAt(step)))); });
  connect(tokens_, &QSpinBox::valueChanged, this, [this](int tokens) {
    const QSignalBlocker blocker(tokensSlider_);
    tokensSlider_->setValue(kTokenScale.stepOf(tokens));
    tokensChosen_ = true;
    emitChanged();
  });
  auto* line = row({tokensSlider_, tokens_});
  qobject_cast<QHBoxLayout*>(line->layout())->setStretch(0, 1);
  addRow(form, tr("Tokens"), line, WhatIfField::tokens);
}

void WhatIfFields::addSystem(QVBoxLayout* form) {
  system_ = editableBox("system", tr("How dispatch, kernels and saving for backward are done; parameters follow the "
                                     "name: momoe:save=100"));
  for (const SystemInfo& info : systems()) {
    system_->addItem(QString::fromUtf8(info.name.data(), static_cast<int>(info.name.size())));
    system_->setItemData(system_->count() - 1, dim(fmt::format("{} dispatch; saves {}", info.dispatch, info.save)),
                         Qt::ToolTipRole);
  }
  connect(system_, &QComboBox::currentTextChanged, this, [this] {
    showParameters();
    emitChanged();
  });
  parameters_ = new QLabel;
  parameters_->setWordWrap(true);
  parameters_->setForegroundRole(QPalette::PlaceholderText);
  addRow(form, tr("System"), system_, WhatIfField::system);
  form->addWidget(parameters_);
}

void WhatIfFields::addRouting(QVBoxLayout* form) {
  routing_ = new QComboBox;
  routing_->setObjectName("routing");
  routing_->addItems({tr("balanced"), tr("skewed (Zipf)"), tr("from a file")});
  routing_->setToolTip(tr("Which experts the tokens go to: evenly, with shares ∝ 1/rank^α, or as a recording says"));
  skewSlider_ = new QSlider(Qt::Horizontal);
  skewSlider_->setObjectName("skewSlider");
  skewSlider_->setRange(0, static_cast<int>(kMaxSkew * kSkewSteps));
  skew_ = new QDoubleSpinBox;
  skew_->setObjectName("skew");
  skew_->setRange(0, kMaxSkew);
  skew_->setSingleStep(1.0 / kSkewSteps);
  skew_->setPrefix("α ");
  skew_->setKeyboardTracking(false);
  skewRow_ = row({skewSlider_, skew_});
  routingFile_ = editableBox("routingFile", tr("Expert ids as .npy, [tokens, top_k] or FILE.npy:layer; shares:FILE.npy "
                                               "takes only its experts' shares"));
  fileRow_ = withBrowse(routingFile_, tr("Recorded routing"), tr("NumPy arrays (*.npy);;All files (*)"));
  addRow(form, tr("Routing"), row({routing_}), WhatIfField::routing);
  form->addWidget(skewRow_);
  form->addWidget(fileRow_);
  setSkew(1);
  connect(routing_, &QComboBox::currentIndexChanged, this, [this] {
    showRouting();
    emitChanged();
  });
  connect(skewSlider_, &QSlider::valueChanged, this,
          [this](int step) { skew_->setValue(static_cast<double>(step) / kSkewSteps); });
  connect(skew_, &QDoubleSpinBox::valueChanged, this, [this](double alpha) {
    setSkew(alpha);
    emitChanged();
  });
}

void WhatIfFields::addGpu(QVBoxLayout* form) {
  gpu_ = editableBox("gpu", tr("The GPU that times and memory are predicted for: a built-in name or a JSON file"));
  for (const Machine& machine : namedMachines()) gpu_->addItem(QString::fromStdString(machine.name));
  gpu_->setCurrentText("h200");
  addRow(form, tr("GPU"), withBrowse(gpu_, tr("Machine file"), tr("Machines (*.json);;All files (*)")),
         WhatIfField::gpu);
}

void WhatIfFields::addBudget(QVBoxLayout* form) {
  budget_ = new QDoubleSpinBox;
  budget_->setObjectName("budget");
  budget_->setRange(0, 1 << 20);
  budget_->setDecimals(1);
  budget_->setSuffix(tr(" GiB"));
  budget_->setSpecialValueText(tr("all of the GPU's memory"));
  budget_->setToolTip(tr("What peak, parameters and their gradients together must fit in. 1 GiB is 2³⁰ bytes"));
  connect(budget_, &QDoubleSpinBox::valueChanged, this, &WhatIfFields::emitChanged);
  addRow(form, tr("Memory budget"), budget_, WhatIfField::budget);
  router_ = new QCheckBox(tr("Count the router's own tensors"));
  router_->setObjectName("withRouter");
  router_->setToolTip(tr("Logits, scores and the router's Steps; not part of the figures by default"));
  connect(router_, &QCheckBox::toggled, this, &WhatIfFields::emitChanged);
  form->addWidget(router_);
}

void WhatIfFields::showRouting() {
  skewRow_->setVisible(routing_->currentIndex() == kZipf);
  fileRow_->setVisible(routing_->currentIndex() == kFile);
}

void WhatIfFields::showParameters() {
  const std::string name = system_->currentText().section(':', 0, 0).toStdString();
  QStringList lines;
  for (const SystemInfo& info : systems()) {
    if (info.name != name) continue;
    lines << dim(fmt::format("{} dispatch; saves {}", info.dispatch, info.save));
    for (const SystemParameter& parameter : info.parameters)
      lines << dim(fmt::format("{}={}: {}", parameter.name, parameter.fallback, parameter.help));
  }
  parameters_->setText(lines.join('\n'));
  parameters_->setVisible(!lines.isEmpty());
}

void WhatIfFields::setSkew(double alpha) {
  const QSignalBlocker slider(skewSlider_), box(skew_);
  skewSlider_->setValue(static_cast<int>(std::lround(alpha * kSkewSteps)));
  skew_->setValue(alpha);
}

void WhatIfFields::emitChanged() {
  if (!quiet_) Q_EMIT changed();
}

WhatIfInputs WhatIfFields::inputs() const {
  WhatIfInputs inputs;
  inputs.config = config_->currentText().trimmed().toStdString();
  inputs.tokens = tokensChosen_ ? tokens_->value() : 0;
  inputs.system = system_->currentText().trimmed().toStdString();
  if (routing_->currentIndex() == kZipf) inputs.routing = fmt::format("zipf:{:.4g}", skew_->value());
  if (routing_->currentIndex() == kFile) inputs.routing = routingFile_->currentText().trimmed().toStdString();
  inputs.gpu = gpu_->currentText().trimmed().toStdString();
  inputs.withRouter = router_->isChecked();
  inputs.budgetGib = budget_->value();
  return inputs;
}

void WhatIfFields::setInputs(const WhatIfInputs& inputs) {
  quiet_ = true;
  config_->setCurrentText(QString::fromStdString(inputs.config));
  system_->setCurrentText(QString::fromStdString(inputs.system));
  gpu_->setCurrentText(QString::fromStdString(inputs.gpu));
  const bool isZipf = inputs.routing.starts_with("zipf:");
  routing_->setCurrentIndex(isZipf ? kZipf : inputs.routing == "balanced" ? kBalanced : kFile);
  if (isZipf) setSkew(QString::fromStdString(inputs.routing.substr(5)).toDouble());
  if (routing_->currentIndex() == kFile) routingFile_->setCurrentText(QString::fromStdString(inputs.routing));
  router_->setChecked(inputs.withRouter);
  budget_->setValue(inputs.budgetGib);
  tokensChosen_ = false;
  if (inputs.tokens > 0) {
    tokens_->setValue(static_cast<int>(std::min(inputs.tokens, kMaxRows)));
    tokensChosen_ = true;
  }
  quiet_ = false;
  Q_EMIT changed();
}

void WhatIfFields::showProblem(const std::optional<WhatIfProblem>& problem) {
  for (size_t i = 0; i < problems_.size(); ++i) {
    const bool here = problem && static_cast<size_t>(problem->field) == i;
    problems_[i]->setText(here ? QString::fromStdString(problem->text) : QString());
    problems_[i]->setVisible(here);
  }
}

void WhatIfFields::showOwnTokens(int64_t tokens) {
  if (tokensChosen_) return;
  const QSignalBlocker slider(tokensSlider_), box(tokens_);
  tokens_->setValue(static_cast<int>(tokens));
  tokensSlider_->setValue(kTokenScale.stepOf(tokens));
}

}  // namespace moeblaze::gui
