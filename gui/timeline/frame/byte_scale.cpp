#include "gui/timeline/frame/byte_scale.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>

#include "gui/units/units.h"

namespace moeblaze::gui {
namespace {

struct Unit {
  int64_t bytes = 1;
  const char* name = "B";
};
constexpr std::array<Unit, 5> kBinary{{{1, "B"},
                                       {int64_t{1} << 10, "KiB"},
                                       {int64_t{1} << 20, "MiB"},
                                       {int64_t{1} << 30, "GiB"},
                                       {int64_t{1} << 40, "TiB"}}};
constexpr std::array<Unit, 5> kDecimal{
    {{1, "B"}, {1'000, "kB"}, {1'000'000, "MB"}, {1'000'000'000, "GB"}, {1'000'000'000'000, "TB"}}};

/// The largest unit that is not above `bytes`.
Unit unitOf(std::span<const Unit> units, double bytes) {
  Unit unit = units[0];
  for (const Unit& larger : units)
    if (std::abs(bytes) >= static_cast<double>(larger.bytes)) unit = larger;
  return unit;
}

/// The smallest number of the form 1, 2 or 5 times a power of ten that is at least `least`, up to 10^18.
int64_t decimalStep(double least) {
  int64_t decade = 1;
  while (static_cast<double>(decade) * 5 < least && decade < 100'000'000'000'000'000) decade *= 10;
  for (int64_t factor : {1, 2, 5})
    if (static_cast<double>(decade * factor) >= least) return decade * factor;
  return decade * 10;
}

}  // namespace

std::vector<Tick> ByteScale::ticks(double pixelsApart) const {
  const ByteUnit written = UnitFormat::shared().unit();
  int64_t step = 1;
  if (written == ByteUnit::binary) {
    while (heightOf(static_cast<double>(step)) < pixelsApart && step < int64_t{1} << 60) step *= 2;
  } else {
    step = decimalStep(pixelsApart / height_ * topBytes_);
  }
  const Unit unit = unitOf(written == ByteUnit::binary ? std::span<const Unit>(kBinary) : kDecimal, topBytes_);
  const int64_t factor = written == ByteUnit::binary ? 2 : 10;
  int decimals = 0;
  // Halves, quarters and eighths are exact with these decimals.
  for (int64_t part = step; part < unit.bytes && decimals < 3; part *= factor) ++decimals;
  std::vector<Tick> ticks;
  for (int64_t at = 0; static_cast<double>(at) <= topBytes_; at += step) {
    const double value = static_cast<double>(at) / static_cast<double>(unit.bytes);
    ticks.push_back({at, written == ByteUnit::exact
                             ? bytesText(at, written)
                             : fmt::format("{:.{}f} {}", value, at == 0 ? 0 : decimals, unit.name)});
  }
  return ticks;
}

std::string bytesText(int64_t bytes) { return bytesText(bytes, UnitFormat::shared().unit()); }

}  // namespace moeblaze::gui
