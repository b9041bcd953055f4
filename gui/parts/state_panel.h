#pragma once

#include <QMetaObject>
#include <QPointer>
#include <QWidget>
#include <memory>
#include <vector>

#include "gui/document/view_state.h"

namespace moeblaze::gui {

class TraceLabels;

/// A panel beside the timelines. It follows the view state of the page in front.
class StatePanel : public QWidget {
  Q_OBJECT

 public:
  using QWidget::QWidget;

  /// Follows another view state; null if the page in front has no document.
  void setState(ViewState* state);
  ViewState* state() const { return state_; }

 protected:
  /// Connects to `state` and returns the connections, which setState() ends before it follows another state.
  virtual std::vector<QMetaObject::Connection> follow(ViewState* state) = 0;
  /// Called when there is another state, another document, or none.
  virtual void refresh() = 0;
  /// The instant that the panel is about: the chosen one, or else that of the peak, in ns.
  int64_t instantNs() const;
  /// "at 1.25 ms, the peak".
  QString instantText() const;

 private:
  QPointer<ViewState> state_;
  std::vector<QMetaObject::Connection> connections_;
};

}  // namespace moeblaze::gui
