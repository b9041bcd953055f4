#pragma once

#include <memory>
#include <vector>

#include "gui/compare/comparison.h"
#include "gui/jobs/latest_job.h"
#include "gui/parts/page.h"

class QComboBox;
class QLabel;
class QTableView;

namespace moeblaze::gui {

class CompareView;
class DifferenceModel;

/// Two of the open traces beside one another.
class ComparePage : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(QWidget* parent = nullptr);

  /// What can be chosen; keeps what is chosen where it is still there.
  void setDocuments(Documents documents) override;
  void choose(const std::shared_ptr<const Document>& a, const std::shared_ptr<const Document>& b);
  /// Chooses among `open`. Where `a` is null it is the first of them, where `b` is null the last.
  void compareFrom(const Documents& open, std::shared_ptr<const Document> a, std::shared_ptr<const Document> b);
  /// Compares the document in front with the first other one.
  void prepare(const Documents& open, const std::shared_ptr<const Document>& front) override;
  void setAlignment(Alignment alignment);

  const std::shared_ptr<const Comparison>& comparison() const { return comparison_; }
  CompareView* view() const { return view_; }
  DifferenceModel* model() const { return model_; }
  std::optional<PagePicture> picture() const override;
  std::optional<std::string> tableCsv() const override;

 Q_SIGNALS:
  void updated();

 private:
  QWidget* makeTop();
  QWidget* makeTable();
  void compare();
  void showComparison(std::shared_ptr<const Comparison> comparison);
  void showSummary();
  void showTable();
  Attribute attribute() const;
  std::shared_ptr<const Document> chosen(const QComboBox* box) const;

  Documents documents_;
  std::shared_ptr<const Comparison> comparison_;
  QComboBox *a_, *b_, *alignment_, *attribute_;
  QLabel* summary_;
  CompareView* view_;
  DifferenceModel* model_;
  QTableView* table_;
  LatestJob job_{this};
};

}  // namespace moeblaze::gui
