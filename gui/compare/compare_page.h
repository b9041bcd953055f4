#pragma once

#include <QWidget>
#include <memory>
#include <vector>

#include "gui/compare/comparison.h"
#include "gui/open/latest_job.h"

class QComboBox;
class QLabel;
class QTableView;

namespace moeblaze::gui {

class CompareView;
class DifferenceModel;

/// Two of the open traces beside one another.
class ComparePage : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePage(QWidget* parent = nullptr);

  /// What can be chosen; keeps what is chosen where it is still there.
  void setDocuments(std::vector<std::shared_ptr<const Document>> documents);
  void choose(const std::shared_ptr<const Document>& a, const std::shared_ptr<const Document>& b);
  void setAlignment(Alignment alignment);

  const std::shared_ptr<const Comparison>& comparison() const { return comparison_; }
  CompareView* view() const { return view_; }
  DifferenceModel* model() const { return model_; }
  /// The table's rows as comma-separated values; empty without a comparison.
  std::string csv() const;

 Q_SIGNALS:
  void updated();
  void csvWanted();

 private:
  QWidget* makeTop();
  QWidget* makeTable();
  void compare();
  void showComparison(std::shared_ptr<const Comparison> comparison);
  void showSummary();
  void showTable();
  Attribute attribute() const;
  std::shared_ptr<const Document> chosen(const QComboBox* box) const;

  std::vector<std::shared_ptr<const Document>> documents_;
  std::shared_ptr<const Comparison> comparison_;
  QComboBox *a_, *b_, *alignment_, *attribute_;
  QLabel* summary_;
  CompareView* view_;
  DifferenceModel* model_;
  QTableView* table_;
  LatestJob job_{this};
};

}  // namespace moeblaze::gui
