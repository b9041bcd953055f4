#pragma once

#include <QPointer>
#include <QToolBar>
#include <array>
#include <vector>

#include "gui/document/view_state.h"

class QComboBox;

namespace moeblaze::gui {

/// The tool bar of the timeline in front. The View menu shares its actions.
class ViewBar : public QToolBar {
  Q_OBJECT

 public:
  explicit ViewBar(QWidget* parent = nullptr);

  /// Follows another view state; null if the page in front has no timeline.
  void setState(ViewState* state);
  /// Actions that move the view: undo, redo, fit, peak, and the next and previous event.
  const QList<QAction*>& moves() const { return moves_; }
  /// One action for each Pane, checked while it is visible.
  const QList<QAction*>& panes() const { return panes_; }
  /// One action for each attribute that bands can show, of which one is checked.
  const QList<QAction*>& bands() const { return bands_; }

 private:
  QAction* addMove(const QString& text, const QString& tip, const QKeySequence& key, void (*act)(ViewState&));
  void addMoves();
  void addTracks();
  void addBands();
  void addPanes();
  void sync();
  void syncTracks();

  QPointer<ViewState> state_;
  std::vector<QMetaObject::Connection> connections_;
  QList<QAction*> moves_, panes_, bands_;
  QAction *undo_ = nullptr, *redo_ = nullptr;
  QComboBox *tracks_ = nullptr, *bandBox_ = nullptr;
  bool syncing_ = false;
};

}  // namespace moeblaze::gui
