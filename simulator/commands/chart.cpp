#include "simulator/commands/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/base/report.h"

namespace moeblaze {
namespace {

/// The most bytes alive within each of `columns` equal slices of [0, endNs).
std::vector<int64_t> columnMaxima(const MemoryCurve& curve, int64_t endNs, int columns) {
  std::vector<int64_t> maxima(columns, 0);
  const auto columnOf = [&](int64_t timeNs) {
    const double at = static_cast<double>(timeNs) / static_cast<double>(std::max<int64_t>(endNs, 1)) * columns;
    return std::clamp(static_cast<int>(at), 0, columns - 1);
  };
  const auto points = curve.points();
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].timeNs >= endNs) break;
    const int64_t until = i + 1 < points.size() ? points[i + 1].timeNs - 1 : endNs;
    for (int c = columnOf(points[i].timeNs); c <= columnOf(std::min(until, endNs - 1)); ++c)
      maxima[c] = std::max(maxima[c], points[i].bytes);
  }
  return maxima;
}

/// Two lines: the axis, with a mark at `boundaryNs`, and its labels.
std::string axis(int64_t endNs, int64_t boundaryNs, int columns, size_t margin) {
  const double fraction = static_cast<double>(boundaryNs) / static_cast<double>(std::max<int64_t>(endNs, 1));
  const int boundary = std::clamp(static_cast<int>(fraction * columns), 1, columns - 1);
  const std::string end = fmt::format("{:.3f} ms", static_cast<double>(endNs) / 1e6);
  std::string line;
  for (int c = 0; c < columns; ++c) line += c == boundary ? "┴" : "─";
  std::string labels(columns, ' ');
  const auto put = [&](int at, const std::string& label) {
    at = std::clamp(at, 0, std::max(0, columns - static_cast<int>(label.size())));
    labels.replace(at, label.size(), label);
  };
  put(boundary / 2 - 3, "forward");
  put(boundary + (columns - boundary - static_cast<int>(end.size())) / 2 - 4, "backward");
  put(columns, end);
  return std::string(margin, ' ') + " └" + line + "\n" + std::string(margin + 2, ' ') + labels + "\n";
}

}  // namespace

std::string drawMemoryCurve(const MemoryCurve& curve, int64_t endNs, int64_t boundaryNs, ChartSize size) {
  constexpr std::array<const char*, 9> kEighths{" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const int64_t peak = std::max<int64_t>(curve.peak().bytes, 1);
  const std::vector<int64_t> maxima = columnMaxima(curve, endNs, size.columns);
  const size_t margin = displayWidth(bytesText(peak));
  std::string chart;
  for (int row = size.rows - 1; row >= 0; --row) {
    const bool labelled = row == size.rows - 1 || row == size.rows / 2 - 1;
    const std::string label = labelled ? bytesText(peak * (row + 1) / size.rows) : "";
    std::string line = fmt::format("{:>{}} {}", label, margin, labelled ? "┤" : "│");
    for (int64_t bytes : maxima) {
      const double eighths = static_cast<double>(bytes) / static_cast<double>(peak) * size.rows * 8 - row * 8;
      line += kEighths[std::clamp(static_cast<int>(eighths + 0.5), 0, 8)];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    chart += line + "\n";
  }
  return chart + axis(endNs, boundaryNs, size.columns, margin);
}

}  // namespace moeblaze
