#pragma once

#include <memory>

#include "gui/document/view_state.h"

namespace moeblaze::gui {

/// What happens to the window when a newer state of the same document replaces an older one.
enum class Follow : uint8_t {
  all,    ///< shows everything
  end,    ///< keeps its length and moves to the new end
  still,  ///< stays where it is
};

/// Replaces the document by a newer state of itself and keeps showing the same track. With `sameIds`, allocation
/// indices mean the same in both, and the selection is kept too.
void swapDocument(ViewState& state, const std::shared_ptr<const Document>& document, Follow follow, bool sameIds);

}  // namespace moeblaze::gui
