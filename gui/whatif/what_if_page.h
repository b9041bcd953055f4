#pragma once

#include <memory>
#include <mutex>

#include "gui/jobs/latest_job.h"
#include "gui/parts/page.h"
#include "gui/whatif/what_if.h"

class QLabel;
class QPushButton;

namespace moeblaze::gui {

class TimelineView;
class WhatIfFields;

/// The what-if page: the fields of a layer that does not exist yet, what it would need, and its timeline, which is
/// redrawn while a slider moves.
class WhatIfPage : public Page {
  Q_OBJECT

 public:
  explicit WhatIfPage(QWidget* parent = nullptr);
  ~WhatIfPage() override;

  ViewState* state() const override { return state_; }
  bool hasPanels() const override { return true; }
  TimelineView* timeline() const { return timeline_; }
  WhatIfFields* fields() const { return fields_; }
  /// Milliseconds from the last change of a field until its timeline was handed over to be drawn.
  double lastUpdateMs() const { return lastUpdateMs_; }

 Q_SIGNALS:
  /// Another answer or problem is shown.
  void updated();

 private:
  struct Engine {
    std::mutex mutex;
    WhatIf whatIf;
  };
  struct Update {
    WhatIfResult result;
    std::shared_ptr<const Document> document;
  };
  QWidget* makeResults();
  void recompute();
  void showUpdate(Update update);
  void showFigures(const WhatIfAnswer& answer);
  void showFit(const WhatIfAnswer& answer);
  void findMostTokens();
  void save();

  WhatIfFields* fields_;
  ViewState* state_;
  TimelineView* timeline_;
  QLabel *figures_ = nullptr, *fit_ = nullptr, *most_ = nullptr;
  QPushButton *compare_ = nullptr, *save_ = nullptr;
  std::shared_ptr<Engine> engine_ = std::make_shared<Engine>();
  std::optional<WhatIfAnswer> answer_;
  LatestJob updating_{this}, searching_{this};
  bool again_ = false;
  double lastUpdateMs_ = 0;
};

}  // namespace moeblaze::gui
