#include "gui/timeline/index/time_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace moeblaze::gui {
namespace {

__extension__ using Wide = __int128;

struct Unit {
  int64_t ns = 1;
  const char* name = "ns";
};
constexpr std::array<Unit, 4> kUnits{{{1, "ns"}, {1'000, "µs"}, {1'000'000, "ms"}, {1'000'000'000, "s"}}};

/// The largest unit that is not above a time.
Unit unitOf(int64_t ns) {
  Unit unit = kUnits[0];
  for (const Unit& larger : kUnits)
    if (ns >= larger.ns || ns <= -larger.ns) unit = larger;
  return unit;
}

int64_t floorDiv(Wide a, Wide b) { return static_cast<int64_t>(a / b - (a % b != 0 && (a < 0) != (b < 0))); }

/// The decimals that numbers written in `unit` need to differ by `ns`.
int decimalsFor(int64_t ns, int64_t unit) {
  int decimals = 0;
  for (; unit > ns && unit > 1; unit /= 10) ++decimals;
  return decimals;
}

/// The smallest of 1, 2, 5, 10, 20, ... that is at least `ns`.
int64_t roundStep(double ns) {
  int64_t power = 1;
  for (; power < int64_t{1} << 58; power *= 10)
    for (int64_t factor : {1, 2, 5})
      if (static_cast<double>(power * factor) >= ns) return power * factor;
  return power;
}

std::string inUnit(int64_t ns, const Unit& unit, int decimals) {
  return fmt::format("{:.{}f} {}", static_cast<double>(ns) / static_cast<double>(unit.ns), decimals, unit.name);
}

}  // namespace

double TimeScale::xOf(int64_t timeNs) const {
  // The difference is exact as an integer. Rounding it to a double moves it by less than a visible fraction of a pixel.
  return static_cast<double>(static_cast<Wide>(timeNs) - window_.startNs) * width_ /
         static_cast<double>(window_.spanNs());
}

int64_t TimeScale::timeAt(double x) const {
  const double whole = std::floor(x);
  const Wide span = window_.spanNs();
  const auto fraction = static_cast<int64_t>(std::floor((x - whole) * nsPerPixel()));
  const Wide pixel = static_cast<Wide>(whole) * span;
  return window_.startNs + floorDiv(pixel, width_) + fraction;
}

int64_t TimeScale::edge(int column) const {
  return window_.startNs - floorDiv(-static_cast<Wide>(column) * window_.spanNs(), width_);
}

TimeWindow TimeScale::zoomed(double x, double factor, const TimeWindow& bounds) const {
  const double span = static_cast<double>(window_.spanNs());
  const double wanted =
      std::clamp(span * factor, static_cast<double>(kMinSpanNs), static_cast<double>(bounds.spanNs()));
  const double before = x / width_ * span;
  const double after = x / width_ * wanted;
  const auto start = window_.startNs + static_cast<int64_t>(std::llround(before - after));
  return clamped({start, start + std::max<int64_t>(1, std::llround(wanted))}, bounds);
}

TimeWindow TimeScale::panned(double pixels, const TimeWindow& bounds) const {
  const auto by = static_cast<int64_t>(std::llround(pixels * nsPerPixel()));
  return clamped({window_.startNs + by, window_.endNs + by}, bounds);
}

std::vector<Tick> TimeScale::ticks(double pixelsApart) const {
  const int64_t step = roundStep(pixelsApart * nsPerPixel());
  const Unit unit = unitOf(std::max(std::abs(window_.startNs), std::abs(window_.endNs)));
  const int decimals = decimalsFor(step, unit.ns);
  std::vector<Tick> ticks;
  for (int64_t at = floorDiv(static_cast<Wide>(window_.startNs) + step - 1, step) * step; at < window_.endNs;
       at += step)
    ticks.push_back({at, inUnit(at, unit, decimals)});
  return ticks;
}

TimeWindow clamped(TimeWindow window, const TimeWindow& bounds) {
  const int64_t least = std::min(kMinSpanNs, bounds.spanNs());
  const int64_t span = std::clamp(window.spanNs(), least, bounds.spanNs());
  const int64_t start = std::clamp(window.startNs, bounds.startNs, bounds.endNs - span);
  return {start, start + span};
}

std::string timeText(int64_t timeNs, int64_t resolutionNs) {
  const Unit unit = unitOf(timeNs);
  return inUnit(timeNs, unit, decimalsFor(std::max<int64_t>(1, resolutionNs), unit.ns));
}

std::string durationText(int64_t ns) {
  const Unit unit = unitOf(ns);
  if (unit.ns == 1) return fmt::format("{} ns", ns);
  const double value = static_cast<double>(ns) / static_cast<double>(unit.ns);
  return inUnit(ns, unit, std::abs(value) >= 1000 ? 0 : std::abs(value) >= 100 ? 1 : std::abs(value) >= 10 ? 2 : 3);
}

}  // namespace moeblaze::gui
