#include "gui/parts/state_panel.h"

#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

void StatePanel::setState(ViewState* state) {
  if (state == state_) return;
  for (const QMetaObject::Connection& connection : connections_) disconnect(connection);
  state_ = state;
  connections_ = state ? follow(state) : std::vector<QMetaObject::Connection>();
  refresh();
}

int64_t StatePanel::instantNs() const {
  const View& view = state_->view();
  if (view.instantNs) return *view.instantNs;
  return view.track == TrackId::none ? 0 : state_->document()->events(view.track)->peak().timeNs;
}

QString StatePanel::instantText() const {
  const View& view = state_->view();
  const int64_t instant = instantNs();
  const bool isPeak = view.track != TrackId::none && state_->document()->events(view.track)->peak().timeNs == instant;
  const int64_t resolution = std::max<int64_t>(1, state_->document()->bounds().spanNs() / 100'000);
  return tr("at %1%2").arg(QString::fromStdString(timeText(instant, resolution)),
                           isPeak ? tr(", the peak") : QString());
}

}  // namespace moeblaze::gui
