#include "gui/timeline/frame/timeline_theme.h"

#include <array>
#include <functional>

namespace moeblaze::gui {
namespace {

constexpr std::array<QRgb, 9> kRoles{0x6cbab3, 0x5ba55a, 0xa5795f, 0xe0605e, 0x4f81bd,
                                     0xf19a3e, 0xe3c34a, 0xb07aa8, 0x6f8db3};
constexpr std::array<QRgb, 8> kRanks{0x4f81bd, 0xf19a3e, 0x5ba55a, 0xe0605e, 0xb07aa8, 0x6cbab3, 0xe3c34a, 0xa5795f};
constexpr QRgb kOther = 0x9aa3ad;

}  // namespace

TimelineTheme::TimelineTheme(const QPalette& palette)
    : isDark_(palette.color(QPalette::Base).lightness() < palette.color(QPalette::Text).lightness()),
      background_(palette.color(QPalette::Base)),
      surface_(palette.color(QPalette::Window)),
      text_(palette.color(QPalette::Text)),
      accent_(palette.color(QPalette::Highlight)) {}

QColor TimelineTheme::mixed(const QColor& from, const QColor& to, double share) {
  const auto mix = [&](int a, int b) { return static_cast<int>(a + (b - a) * share + 0.5); };
  return {mix(from.red(), to.red()), mix(from.green(), to.green()), mix(from.blue(), to.blue())};
}

QColor TimelineTheme::grid() const {
  QColor line = text_;
  line.setAlpha(isDark_ ? 36 : 26);
  return line;
}

QColor TimelineTheme::toned(QRgb rgb) const { return mixed(QColor::fromRgb(rgb), background_, isDark_ ? 0.14 : 0.06); }

QColor TimelineTheme::role(Role role) const { return toned(kRoles[static_cast<size_t>(role)]); }

QColor TimelineTheme::band(const Category& category, size_t place) const {
  if (category.isRole) return role(category.role);
  return category.isOther ? other() : toned(kRanks[place % kRanks.size()]);
}

QColor TimelineTheme::band(const MemoryIndex& index, const Allocation& allocation) const {
  const size_t place = index.categoryOf(allocation);
  return band(index.categories()[place], place);
}

QColor TimelineTheme::other() const { return toned(kOther); }

QColor TimelineTheme::named(std::string_view name) const {
  const size_t hash = std::hash<std::string_view>{}(name);
  const QColor color = toned(kRanks[hash % kRanks.size()]);
  return mixed(color, background_, 0.1 * static_cast<double>(hash / kRanks.size() % 4));
}

}  // namespace moeblaze::gui
