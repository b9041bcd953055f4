#include "gui/parts/page.h"

namespace moeblaze::gui {

void Page::prepare(const Documents& open, const std::shared_ptr<const Document>&) { setDocuments(open); }

}  // namespace moeblaze::gui
