#pragma once

#include <memory>

#include "gui/jobs/latest_job.h"
#include "gui/models/alive_model.h"
#include "gui/parts/state_panel.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QTreeView;
class QVBoxLayout;

namespace moeblaze::gui {

/// A table of the allocations alive at the chosen instant, or at the peak. An allocation selected here is highlighted
/// in the timeline and the other way round.
class AlivePanel : public StatePanel {
  Q_OBJECT

 public:
  explicit AlivePanel(QWidget* parent = nullptr);

  AliveModel* model() const { return model_; }
  QTreeView* view() const { return view_; }
  /// Whether a new table is being made.
  bool isBusy() const { return job_.isRunning(); }
  /// Lets the user type into the filter.
  void focusFilter();
  /// Copies the selected rows to the clipboard as tab-separated text.
  void copySelection() const;
  /// All rows as comma-separated values; empty without a document.
  std::string csv() const;

 Q_SIGNALS:
  /// A new table is shown.
  void updated();
  /// The user wants the table as a file.
  void csvWanted();

 protected:
  std::vector<QMetaObject::Connection> follow(ViewState* state) override;
  void refresh() override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void addControls(QVBoxLayout* layout);
  void addView(QVBoxLayout* layout);
  AliveQuery query() const;
  void rebuild();
  void showRows(std::shared_ptr<const AliveTable> table);
  void showTitle();
  void selectFromState();
  void selectFromView();

  QLabel* title_;
  QComboBox* grouping_;
  QLineEdit* filter_;
  AliveModel* model_;
  QTreeView* view_;
  LatestJob job_{this};
  std::shared_ptr<const Document> labelled_;  ///< the document that labels_ belong to
  std::shared_ptr<const TraceLabels> labels_;
  bool selecting_ = false;
};

}  // namespace moeblaze::gui
