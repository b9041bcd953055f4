#include "gui/panels/info_panel.h"

#include <QHeaderView>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "gui/timeline/index/time_scale.h"
#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

QString text(const std::string& words) { return QString::fromStdString(words); }

void addRow(QTreeWidgetItem* group, const QString& name, const QString& value) {
  auto* item = new QTreeWidgetItem(group, {name, value});
  item->setToolTip(0, name);
  item->setToolTip(1, value);
}

}  // namespace

InfoPanel::InfoPanel(QWidget* parent) : StatePanel(parent), tree_(new QTreeWidget) {
  tree_->setObjectName("info");
  tree_->setColumnCount(2);
  tree_->setHeaderHidden(true);
  tree_->setRootIsDecorated(false);
  tree_->setUniformRowHeights(true);
  tree_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 4, 6, 4);
  layout->addWidget(tree_);
  connect(&UnitFormat::shared(), &UnitFormat::changed, this, &InfoPanel::refresh);
}

std::vector<QMetaObject::Connection> InfoPanel::follow(ViewState* state) {
  return {connect(state, &ViewState::documentChanged, this, &InfoPanel::refresh)};
}

QTreeWidgetItem* InfoPanel::addGroup(const QString& name) {
  auto* group = new QTreeWidgetItem(tree_, {name});
  QFont font = group->font(0);
  font.setBold(true);
  group->setFont(0, font);
  group->setExpanded(true);
  return group;
}

void InfoPanel::addTracks(const Document& document) {
  QTreeWidgetItem* group = addGroup(tr("Memory"));
  const UnitFormat& units = UnitFormat::shared();
  for (TrackId track : document.memoryTracks()) {
    const MemoryEvents& events = *document.events(track);
    const Track& t = document.trace().tracks[index(track)];
    addRow(group, QString("%1 (%2)").arg(text(t.name), QString::fromUtf8(name(t.kind).data())),
           tr("peak %1 at %2, %3 changes")
               .arg(units.text(events.peak().bytes), text(durationText(events.peak().timeNs)),
                    text(countText(static_cast<int64_t>(events.size())))));
    if (const TrackId segments = document.segmentsOf(track); segments != TrackId::none)
      addRow(group, tr("reserved for it"), tr("peak %1").arg(units.text(document.events(segments)->peak().bytes)));
  }
}

void InfoPanel::refresh() {
  tree_->clear();
  if (!state() || !state()->document()) return;
  const Document& document = *state()->document();
  const Trace& trace = document.trace();
  if (!trace.losses.empty()) {
    QTreeWidgetItem* group = addGroup(tr("Missing from this trace"));
    for (const Loss& loss : trace.losses) addRow(group, text(loss.what), text(countText(loss.count)));
  }
  addTracks(document);
  QTreeWidgetItem* devices = addGroup(tr("Devices"));
  for (const Device& device : trace.devices)
    addRow(devices, tr("device %1 %2").arg(device.id).arg(text(device.name)),
           device.memoryBytes > 0 ? UnitFormat::shared().text(device.memoryBytes) : QString());
  devices->setHidden(trace.devices.empty());
  QTreeWidgetItem* meta = addGroup(tr("About"));
  if (!document.path().empty()) addRow(meta, tr("file"), text(document.path()));
  for (const auto& [key, value] : trace.meta)
    if (key != "file") addRow(meta, text(key), text(value));
  addRow(meta, tr("spans"), text(countText(std::ssize(trace.spans))));
}

}  // namespace moeblaze::gui
