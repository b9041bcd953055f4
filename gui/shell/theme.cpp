#include "gui/shell/theme.h"

#include <QApplication>
#include <QPalette>
#include <QSettings>
#include <QStyleFactory>
#include <algorithm>

namespace moeblaze::gui {
namespace {

constexpr const char* kKey = "theme";

QPalette paletteOf(const QColor& window, const QColor& base, const QColor& text, const QColor& button) {
  QPalette palette(button, window);
  const QColor accent(52, 120, 200);
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::Base, base);
  palette.setColor(QPalette::AlternateBase, window);
  palette.setColor(QPalette::ToolTipBase, button);
  for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText, QPalette::ToolTipText})
    palette.setColor(role, text);
  palette.setColor(QPalette::Button, button);
  palette.setColor(QPalette::Highlight, accent);
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, accent.lighter(120));
  QColor faint = text;
  faint.setAlpha(140);
  palette.setColor(QPalette::PlaceholderText, faint);
  for (QPalette::ColorRole role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, faint);
  return palette;
}

QPalette lightPalette() { return paletteOf({243, 244, 246}, Qt::white, {32, 34, 38}, {232, 234, 238}); }
QPalette darkPalette() { return paletteOf({40, 42, 46}, {28, 30, 33}, {224, 226, 230}, {56, 59, 64}); }

}  // namespace

Theme savedTheme() {
  const int theme = QSettings().value(kKey, 0).toInt();
  return static_cast<Theme>(std::clamp(theme, 0, static_cast<int>(Theme::dark)));
}

void saveTheme(Theme theme) { QSettings().setValue(kKey, static_cast<int>(theme)); }

void applyTheme(Theme theme) {
  // The palette of the desktop, before this program sets another.
  static const QPalette kDesktop = QApplication::palette();
  QApplication::setStyle(QStyleFactory::create("Fusion"));
  switch (theme) {
    case Theme::system: {
      const bool isDark = kDesktop.color(QPalette::Window).lightness() < 128;
      QApplication::setPalette(isDark ? darkPalette() : lightPalette());
      break;
    }
    case Theme::light:
      QApplication::setPalette(lightPalette());
      break;
    case Theme::dark:
      QApplication::setPalette(darkPalette());
      break;
  }
}

}  // namespace moeblaze::gui
