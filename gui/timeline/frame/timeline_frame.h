#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "gui/document/view_state.h"
#include "gui/timeline/frame/stack_layout.h"

namespace moeblaze::gui {

/// What is to be looked up for a picture of a timeline.
struct TimelineQuery {
  std::shared_ptr<const Document> document;
  View view;
  int width = 1;                      ///< width of the panes in device pixels
  std::array<int, kPanes> heights{};  ///< heights of the panes in device pixels; 0 for a pane that is not shown
  double pixelRatio = 1;              ///< device pixels in one logical pixel
  bool waits = false;                 ///< whether missing indices are made; otherwise the frame does without them
};

/// What a picture of a timeline shows, looked up in a document: only as much as its pixels need. Places are in device
/// pixels.
struct TimelineFrame {
  struct Lane {
    TrackId track = TrackId::none;
    int firstRow = 0, rows = 0;
    std::vector<SpanBox> boxes;  ///< their rows count within the lane
  };

  TimelineQuery query;
  TimeScale scale{{}, 1};
  /// The bytes at the top of memory and stack, enough for everything that either shows at any time.
  double topBytes = 1;
  std::shared_ptr<const MemoryIndex> index;             ///< null when there is no memory or the index is not ready
  std::vector<MemoryColumn> memory, overlay, reserved;  ///< one column for each pixel; empty if not shown
  StackLayout stack;
  std::shared_ptr<const AddressMap> addresses;
  std::vector<AddressBox> boxes;
  bool hasAllBoxes = true;
  std::vector<Lane> lanes;
  std::array<std::string, kPanes> notes;  ///< for each pane, why it is empty
  bool isComplete = true;                 ///< false if indices are missing

  /// Whether a pane was asked for and has something to show.
  bool has(Pane pane) const {
    return query.heights[static_cast<size_t>(pane)] > 0 && notes[static_cast<size_t>(pane)].empty();
  }
};

/// Looks up what a query asks for. Indices that are missing are made or left out, as TimelineQuery::waits says.
TimelineFrame makeFrame(TimelineQuery query);

/// Makes the indices that makeFrame did not find; this may take long. Throws Interrupted when stopped.
void makeIndices(const TimelineQuery& query, const Progress& progress);

/// The number of rows of the span lanes that are shown. Tracks whose rows would exceed kMaxSpanRows are left out.
int spanRows(const Document& document);
inline constexpr int kMaxSpanRows = 256;

}  // namespace moeblaze::gui
