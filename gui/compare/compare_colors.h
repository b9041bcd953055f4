#pragma once

#include <QColor>

namespace moeblaze::gui {

/// The colours of the two traces, and of the places where the second one needs more or less memory. They differ without
/// red and green vision, too.
inline const QColor kAColor(66, 133, 214), kBColor(226, 137, 36);
inline const QColor kMoreColor(214, 80, 70), kLessColor(40, 150, 136);

}  // namespace moeblaze::gui
