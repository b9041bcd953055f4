#pragma once

#include <QString>

namespace moeblaze::gui {

enum class Theme : uint8_t { system, light, dark };

/// The one chosen in an earlier run.
Theme savedTheme();
void saveTheme(Theme theme);
/// Colours of all windows from now on. `system` follows the desktop.
void applyTheme(Theme theme);

}  // namespace moeblaze::gui
