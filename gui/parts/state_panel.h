#pragma once

#include <QMetaObject>
#include <QPointer>
#include <QWidget>
#include <memory>
#include <vector>

#include "gui/document/view_state.h"

namespace moeblaze::gui {

class TraceLabels;

/// A panel beside the timelines that follows whichever view state is in front.
class StatePanel : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  /// Null when nothing in front has a document.
  void setState(ViewState* state);
  ViewState* state() const { return state_; }

 protected:
  /// Connect to `state`; the connections end with the next setState.
  virtual std::vector<QMetaObject::Connection> follow(ViewState* state) = 0;
  /// Another state, another document, or none.
  virtual void refresh() = 0;
  /// The instant that tables are about: the chosen one, else the peak's.
  int64_t instantNs() const;
  /// "at 1.25 ms, the peak".
  QString instantText() const;

 private:
  QPointer<ViewState> state_;
  std::vector<QMetaObject::Connection> connections_;
};

}  // namespace moeblaze::gui
