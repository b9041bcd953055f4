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

/// The page that shows two of the open traces beside one another.
class ComparePage : public Page {
  Q_OBJECT

 public:
  explicit ComparePage(QWidget* parent = nullptr);

  /// Offers these documents; the two that are compared stay chosen while they are among them.
  void setDocuments(const Documents& documents) override;
  /// Compares two of the documents offered; a null one leaves its side empty.
  void choose(const std::shared_ptr<const Document>& a, const std::shared_ptr<const Document>& b);
  /// Offers the documents in `open` and compares two of them. A null `a` stands for the first one, a null `b` for the
  /// last.
  void compareFrom(const Documents& open, std::shared_ptr<const Document> a, std::shared_ptr<const Document> b);
  /// Compares the document in front with the first other one.
  void prepare(const Documents& open, const std::shared_ptr<const Document>& front) override;
  void setAlignment(Alignment alignment);

  /// Null while there are not two documents, and until the first comparison is made.
  const std::shared_ptr<const Comparison>& comparison() const { return comparison_; }
  CompareView* view() const { return view_; }
  DifferenceModel* model() const { return model_; }
  std::optional<PagePicture> picture() const override;
  std::optional<std::string> tableCsv() const override;

 Q_SIGNALS:
  /// Another comparison is shown, or none.
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
