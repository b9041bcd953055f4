#pragma once

#include <QColor>

namespace moeblaze::gui {

/// The two traces of a comparison, and where the second needs more or less. Told apart without red and green too.
inline const QColor kAColor(66, 133, 214), kBColor(226, 137, 36);
inline const QColor kMoreColor(214, 80, 70), kLessColor(40, 150, 136);

}  // namespace moeblaze::gui
