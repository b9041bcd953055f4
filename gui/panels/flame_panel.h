#pragma once

#include <memory>

#include "gui/jobs/latest_job.h"
#include "gui/parts/state_panel.h"

class QLabel;
class QLineEdit;
class QScrollArea;

namespace moeblaze::gui {

class FlameTree;
class FlameView;

/// A flame graph of the allocations alive at the chosen instant, or at the peak, by the call stacks that made them.
class FlamePanel : public StatePanel {
  Q_OBJECT

 public:
  explicit FlamePanel(QWidget* parent = nullptr);

  FlameView* view() const { return view_; }
  /// Makes the graph that was asked for while the panel was hidden.
  void showEvent(QShowEvent* event) override;

 Q_SIGNALS:
  /// A new graph is shown, or none.
  void updated();

 protected:
  std::vector<QMetaObject::Connection> follow(ViewState* state) override;
  void refresh() override;

 private:
  void rebuild();
  void showTree(std::shared_ptr<const FlameTree> tree);
  void search();

  QLabel *title_, *message_;
  QLineEdit* search_;
  QScrollArea* scroll_;
  FlameView* view_;
  LatestJob job_{this};
  bool isStale_ = false;
  QString summary_;
};

}  // namespace moeblaze::gui
