#pragma once

#include <QString>

namespace moeblaze::gui {

enum class Theme : uint8_t { system, light, dark };

/// The theme chosen in an earlier run.
Theme savedTheme();
void saveTheme(Theme theme);
/// Sets the colours of all windows. `system` follows the desktop.
void applyTheme(Theme theme);

}  // namespace moeblaze::gui
