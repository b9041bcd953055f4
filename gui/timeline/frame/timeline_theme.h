#pragma once

#include <QColor>
#include <QPalette>
#include <string_view>

#include "gui/timeline/index/memory_index.h"

namespace moeblaze::gui {

/// The colours of timelines, light or dark as the palette is. The band of a role has the same colour everywhere.
class TimelineTheme {
 public:
  explicit TimelineTheme(const QPalette& palette);

  bool isDark() const { return isDark_; }
  QColor background() const { return background_; }
  QColor surface() const { return surface_; }  ///< behind axes and headings
  QColor text() const { return text_; }
  QColor faintText() const { return mixed(text_, background_, 0.4); }
  QColor border() const { return mixed(surface_, text_, isDark_ ? 0.2 : 0.16); }
  QColor grid() const;  ///< translucent, because the grid is drawn over the data
  /// The lines over the memory bands: their sum, reserved memory, the overlay, and the mark of the peak.
  QColor total() const { return mixed(text_, background_, 0.15); }
  QColor reserved() const { return mixed(text_, background_, 0.45); }
  QColor overlay() const { return isDark_ ? QColor(0x5e, 0xd3, 0xff) : QColor(0x00, 0x5f, 0xb8); }
  QColor peak() const { return isDark_ ? QColor(0xff, 0x6b, 0x81) : QColor(0xc6, 0x1a, 0x36); }
  QColor accent() const { return accent_; }

  /// The colour of the band at a place of its index.
  QColor band(const Category& category, size_t place) const;
  /// The colour of the band of `index` that an allocation belongs to.
  QColor band(const MemoryIndex& index, const Allocation& allocation) const;
  QColor role(Role role) const;
  /// The colour of allocations without a band or polygon of their own.
  QColor other() const;
  /// A colour that depends on the name only.
  QColor named(std::string_view name) const;

  /// Mixes `share` of `to`, from 0 to 1, into `from`.
  static QColor mixed(const QColor& from, const QColor& to, double share);

 private:
  QColor toned(QRgb rgb) const;

  bool isDark_ = false;
  QColor background_, surface_, text_, accent_;
};

}  // namespace moeblaze::gui
