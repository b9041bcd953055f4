#include "gui/units/units.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace moeblaze::gui {
namespace {

std::string grouped(std::string digits) {
  const size_t start = digits.starts_with('-') ? 1 : 0;
  for (size_t at = digits.size(); at > start + 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

/// Writes four digits with the largest prefix that keeps the number at least 1.
std::string scaled(double bytes, double base, std::string_view prefixes, std::string_view suffix) {
  size_t prefix = 0;
  // 1023.96 would be written as 1024, so it is written as 1 of the next prefix instead.
  while (prefix + 1 < prefixes.size() && std::abs(bytes) >= base - base / 20000) bytes /= base, ++prefix;
  const double size = std::abs(bytes);
  const int decimals = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
  return fmt::format("{:.{}f} {}{}", bytes, decimals, prefixes[prefix], suffix);
}

}  // namespace

std::string_view label(ByteUnit unit) {
  constexpr std::array<std::string_view, 3> kLabels{"MiB / GiB (powers of 1024)", "Bytes", "MB / GB (powers of 1000)"};
  return kLabels[static_cast<size_t>(unit)];
}

std::string bytesText(int64_t bytes, ByteUnit unit) {
  const double size = std::abs(static_cast<double>(bytes));
  if (unit == ByteUnit::exact) return grouped(std::to_string(bytes)) + " B";
  if (size < (unit == ByteUnit::binary ? 1024 : 1000)) return fmt::format("{} B", bytes);
  if (unit == ByteUnit::binary) return scaled(static_cast<double>(bytes), 1024, " KMGTPE", "iB");
  return scaled(static_cast<double>(bytes), 1000, " kMGTPE", "B");
}

std::string deltaText(int64_t bytes, ByteUnit unit) {
  return fmt::format("{}{}", bytes > 0 ? "+" : "", bytesText(bytes, unit));
}

std::string countText(int64_t count) { return grouped(std::to_string(count)); }

UnitFormat& UnitFormat::shared() {
  static UnitFormat format;
  return format;
}

void UnitFormat::setUnit(ByteUnit unit) {
  if (unit_.exchange(unit) != unit) Q_EMIT changed();
}

}  // namespace moeblaze::gui
