#pragma once

#include <QRect>
#include <array>
#include <optional>
#include <vector>

#include "gui/document/view_state.h"

namespace moeblaze::gui {

/// How the panes of a timeline share its height. The user changes it by dragging edges and collapsing panes.
struct PaneSizes {
  std::array<double, kPanes> weights{3, 2, 2, 0};  ///< of the panes whose height adapts; the spans take what they need
  std::array<bool, kPanes> collapsed{};
};

/// Where the parts of a timeline lie, in logical pixels.
struct TimelineLayout {
  struct Area {
    Pane pane = Pane::memory;
    QRect heading;  ///< spans the whole width
    QRect body;     ///< right of the labels; empty when collapsed
  };

  static constexpr int kLabels = 156, kAxis = 28, kHeading = 22, kSpanRow = 17, kMinBodyHeight = 90;

  QRect axis;               ///< the time axis, right of the labels
  std::vector<Area> areas;  ///< from top to bottom, with the scroll offset applied
  int contentHeight = 0;    ///< the height of everything, including the axis

  int left() const { return axis.left(); }
  int width() const { return axis.width(); }
  /// The area of a pane; null if the pane is hidden or collapsed.
  const Area* find(Pane pane) const;
  /// The area at a height, heading included; null if there is none.
  const Area* at(int y) const;
  /// The index of the area whose lower edge can be dragged at `y`.
  std::optional<size_t> edgeAt(int y) const;
};

/// Lays out the panes. `spanRows` is the number of rows of all span lanes, `scroll` the pixels by which the panes are
/// scrolled up.
TimelineLayout layOutTimeline(const QSize& size, const View& view, const PaneSizes& sizes, int spanRows, int scroll);

/// The heading of a pane, as in "Memory".
std::string_view name(Pane pane);

}  // namespace moeblaze::gui
