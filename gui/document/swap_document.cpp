#include "gui/document/swap_document.h"

#include <algorithm>

namespace moeblaze::gui {

void swapDocument(ViewState& state, const std::shared_ptr<const Document>& document, Follow follow, bool sameIds) {
  const View before = state.view();
  const auto previous = state.document();
  const bool hasTrack = std::ranges::find(document->memoryTracks(), before.track) != document->memoryTracks().end();
  state.setDocument(document);
  if (!previous) return;
  if (hasTrack && before.track != TrackId::none) state.setTrack(before.track);
  // An overlay of another document stays. One of this document was set anew with the document.
  if (before.overlay.document && before.overlay.document != previous) state.setOverlay(before.overlay);
  if (follow != Follow::all) {
    TimeWindow window = before.window;
    if (follow == Follow::end) {
      const int64_t moved = document->bounds().endNs - window.endNs;
      window = {window.startNs + moved, window.endNs + moved};
    }
    state.setWindow(clamped(window, document->bounds()), ViewState::Undo::none);
  }
  if (!sameIds) return;
  state.setRange(before.range);
  state.setInstant(before.instantNs);
  if (before.allocation && *before.allocation < document->trace().allocations.size())
    state.setAllocation(before.allocation);
}

}  // namespace moeblaze::gui
