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
  int width = 1;                      ///< of the panes, device pixels
  std::array<int, kPanes> heights{};  ///< device pixels; 0 for what is not shown
  double pixelRatio = 1;              ///< device pixels in a logical one
  bool waits = false;                 ///< makes indices that are not there yet rather than going without
};

/// What a picture of a timeline shows, found in a document: only what its pixels need. Places are in device pixels.
struct TimelineFrame {
  struct Lane {
    TrackId track = TrackId::none;
    int firstRow = 0, rows = 0;
    std::vector<SpanBox> boxes;  ///< rows counted within the lane
  };

  TimelineQuery query;
  TimeScale scale{{}, 1};
  double topBytes = 1;  ///< of memory and stack: room for everything drawn in either, at every time
  std::shared_ptr<const MemoryIndex> index;             ///< null when there is no memory or it is not ready
  std::vector<MemoryColumn> memory, overlay, reserved;  ///< a column a pixel; empty for what is not shown
  StackLayout stack;
  std::shared_ptr<const AddressMap> addresses;
  std::vector<AddressBox> boxes;
  bool hasAllBoxes = true;
  std::vector<Lane> lanes;
  std::array<std::string, kPanes> notes;  ///< why a pane is empty
  bool isComplete = true;                 ///< false: indices are missing

  /// Whether a pane was asked for and has something to show.
  bool has(Pane pane) const {
    return query.heights[static_cast<size_t>(pane)] > 0 && notes[static_cast<size_t>(pane)].empty();
  }
};

TimelineFrame makeFrame(TimelineQuery query);

/// Makes what makeFrame missed; takes its time. Throws Interrupted when asked to stop.
void makeIndices(const TimelineQuery& query, const Progress& progress);

/// Rows of the span lanes of a document that are shown: tracks beyond kMaxSpanRows are not.
int spanRows(const Document& document);
inline constexpr int kMaxSpanRows = 256;

}  // namespace moeblaze::gui
