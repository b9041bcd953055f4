#pragma once

#include <memory>

#include "gui/document/view_state.h"

namespace moeblaze::gui {

/// How the window follows when a document makes place for a newer one of the same thing.
enum class Follow : uint8_t {
  all,    ///< everything is shown
  end,    ///< the window keeps its length and moves to the new end
  still,  ///< the window stays
};

/// Shows `document` instead of an earlier state of the same thing, and keeps what is shown of it: the track, and
/// with `sameIds` also what is selected, whose indices then mean the same.
void swapDocument(ViewState& state, std::shared_ptr<const Document> document, Follow follow, bool sameIds);

}  // namespace moeblaze::gui
