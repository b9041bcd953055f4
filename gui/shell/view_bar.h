#pragma once

#include <QPointer>
#include <QToolBar>
#include <array>
#include <vector>

#include "gui/document/view_state.h"

class QComboBox;

namespace moeblaze::gui {

/// What can be done with the timeline in front, as buttons; the View menu shares the actions.
class ViewBar : public QToolBar {
  Q_OBJECT

 public:
  explicit ViewBar(QWidget* parent = nullptr);

  /// Null when nothing in front has a timeline.
  void setState(ViewState* state);
  const QList<QAction*>& moves() const { return moves_; }
  const QList<QAction*>& panes() const { return panes_; }
  /// One of each band mode, of which one is checked.
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
