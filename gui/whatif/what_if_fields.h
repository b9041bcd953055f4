#pragma once

#include <QWidget>
#include <array>

#include "gui/whatif/what_if.h"

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QVBoxLayout;
class QLabel;
class QSlider;
class QSpinBox;

namespace moeblaze::gui {

/// The fields of the what-if page. They do not check their input; a problem that the core finds is shown at its field.
class WhatIfFields : public QWidget {
  Q_OBJECT

 public:
  explicit WhatIfFields(QWidget* parent = nullptr);

  WhatIfInputs inputs() const;
  /// Sets every field and emits changed() once.
  void setInputs(const WhatIfInputs& inputs);
  /// Shows a problem below its field and hides any other.
  void showProblem(const std::optional<WhatIfProblem>& problem);
  /// Shows the number of tokens of the config until the user chooses another.
  void showOwnTokens(int64_t tokens);

 Q_SIGNALS:
  void changed();
  /// The user pressed Enter in a field that names a file; the file may have changed.
  void reloadWanted();

 private:
  void addConfig(QVBoxLayout* form);
  void addTokens(QVBoxLayout* form);
  void addSystem(QVBoxLayout* form);
  void addRouting(QVBoxLayout* form);
  void addGpu(QVBoxLayout* form);
  void addBudget(QVBoxLayout* form);
  void addRow(QVBoxLayout* form, const QString& label, QWidget* field, WhatIfField problem);
  QWidget* withBrowse(QComboBox* box, const QString& title, const QString& filter);
  void showRouting();
  void showParameters();
  void setSkew(double alpha);
  void emitChanged();

  QComboBox *config_ = nullptr, *system_ = nullptr, *routing_ = nullptr, *gpu_ = nullptr, *routingFile_ = nullptr;
  QSlider *tokensSlider_ = nullptr, *skewSlider_ = nullptr;
  QSpinBox* tokens_ = nullptr;
  QDoubleSpinBox *skew_ = nullptr, *budget_ = nullptr;
  QCheckBox* router_ = nullptr;
  QLabel* parameters_ = nullptr;
  QWidget *skewRow_ = nullptr, *fileRow_ = nullptr;
  std::array<QLabel*, 6> problems_{};
  bool tokensChosen_ = false, quiet_ = false;
};

}  // namespace moeblaze::gui
