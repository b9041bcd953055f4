#pragma once

#include <QSize>
#include <QWidget>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/document/view_state.h"

namespace moeblaze::gui {

/// What a page looks like, to be painted elsewhere: `paint` takes the painter and the size in logical pixels.
struct PagePicture {
  std::function<void(QPainter&, const QSize&)> paint;
  QSize size;
};

/// A tab of the window. The window asks the page in front for what its panels, tool bar and menus work on.
class Page : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  /// What the page's timeline shows; null for a page without a timeline.
  virtual ViewState* state() const { return nullptr; }
  /// The document of the timeline; null without a timeline and before there is one.
  std::shared_ptr<const Document> document() const { return state() ? state()->document() : nullptr; }
  /// Whether the panels and the tool bar of a timeline are shown beside the page.
  virtual bool hasPanels() const { return false; }
  /// Whether the page follows a recording, in words; empty for other pages.
  virtual QString liveText() const { return {}; }
  /// The picture that "Save view as picture" saves; nothing when the page shows just a timeline.
  virtual std::optional<PagePicture> picture() const { return std::nullopt; }
  /// The page's own table as comma-separated values, empty while it has no rows; nothing without such a table.
  virtual std::optional<std::string> tableCsv() const { return std::nullopt; }

  /// Tells which documents are open, whenever that changes.
  virtual void setDocuments(const Documents&) {}
  /// Called before the page comes to the front by its menu entry. `front` is the document that was in front, or null.
  virtual void prepare(const Documents& open, const std::shared_ptr<const Document>& front);

 Q_SIGNALS:
  /// The page shows another document, or says that it has none.
  void documentChanged();
  /// The user wants the table as a file.
  void csvWanted();
  /// The user wants `document` beside another trace.
  void compareWanted(std::shared_ptr<const Document> document);
};

}  // namespace moeblaze::gui
