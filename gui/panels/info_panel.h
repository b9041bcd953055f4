#pragma once

#include "gui/parts/state_panel.h"

class QTreeWidget;
class QTreeWidgetItem;

namespace moeblaze::gui {

/// What a trace says about itself: first what is missing from it, then its tracks, devices and meta data.
class InfoPanel : public StatePanel {
  Q_OBJECT

 public:
  explicit InfoPanel(QWidget* parent = nullptr);

 protected:
  std::vector<QMetaObject::Connection> follow(ViewState* state) override;
  void refresh() override;

 private:
  QTreeWidgetItem* addGroup(const QString& name);
  void addTracks(const Document& document);

  QTreeWidget* tree_;
};

}  // namespace moeblaze::gui
