#pragma once

#include <QColor>
#include <QPalette>
#include <string_view>

#include "gui/timeline/index/memory_index.h"

namespace moeblaze::gui {

/// The colours of timelines, light or dark as the palette is. Bands of one role look the same wherever they are shown.
class TimelineTheme {
 public:
  explicit TimelineTheme(const QPalette& palette);

  bool isDark() const { return isDark_; }
  QColor background() const { return background_; }
  QColor surface() const { return surface_; }  ///< of axes and headings
  QColor text() const { return text_; }
  QColor faintText() const { return mixed(text_, background_, 0.4); }
  QColor border() const { return mixed(surface_, text_, isDark_ ? 0.2 : 0.16); }
  QColor grid() const;  ///< translucent: drawn over data
  QColor total() const { return mixed(text_, background_, 0.15); }
  QColor reserved() const { return mixed(text_, background_, 0.45); }
  QColor overlay() const { return isDark_ ? QColor(0x5e, 0xd3, 0xff) : QColor(0x00, 0x5f, 0xb8); }
  QColor peak() const { return isDark_ ? QColor(0xff, 0x6b, 0x81) : QColor(0xc6, 0x1a, 0x36); }
  QColor accent() const { return accent_; }

  /// Of the band at that place among its siblings.
  QColor band(const Category& category, size_t place) const;
  /// Of the band of `index` that an allocation belongs to.
  QColor band(const MemoryIndex& index, const Allocation& allocation) const;
  QColor role(Role role) const;
  /// Of what has no band or polygon of its own.
  QColor other() const;
  /// The same for the same name.
  QColor named(std::string_view name) const;

  /// `share` of `to` in `from`.
  static QColor mixed(const QColor& from, const QColor& to, double share);

 private:
  QColor toned(QRgb rgb) const;

  bool isDark_ = false;
  QColor background_, surface_, text_, accent_;
};

}  // namespace moeblaze::gui
