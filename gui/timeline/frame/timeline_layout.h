#pragma once

#include <QRect>
#include <array>
#include <optional>
#include <vector>

#include "gui/document/view_state.h"

namespace moeblaze::gui {

/// How a timeline's panes share its height; changed by dragging and collapsing.
struct PaneSizes {
  std::array<double, kPanes> weights{3, 2, 2, 0};  ///< of the flexible ones; spans take what they need
  std::array<bool, kPanes> collapsed{};
};

/// Where the parts of a timeline are, in logical pixels.
struct TimelineLayout {
  struct Area {
    Pane pane = Pane::memory;
    QRect heading;  ///< over the whole width
    QRect body;     ///< right of the labels; empty when collapsed
  };

  static constexpr int kLabels = 156, kAxis = 28, kHeading = 22, kSpanRow = 17, kMinBodyHeight = 90;

  QRect axis;               ///< of time, right of the labels
  std::vector<Area> areas;  ///< top to bottom, already scrolled
  int contentHeight = 0;    ///< of everything, axis included

  int left() const { return axis.left(); }
  int width() const { return axis.width(); }
  const Area* find(Pane pane) const;
  const Area* at(int y) const;
  /// The area whose lower edge can be dragged at `y`.
  std::optional<size_t> edgeAt(int y) const;
};

/// `spanRows` is the number of rows of all span lanes; `scroll` how far the panes are scrolled up.
TimelineLayout layOutTimeline(const QSize& size, const View& view, const PaneSizes& sizes, int spanRows, int scroll);

std::string_view name(Pane pane);

}  // namespace moeblaze::gui
