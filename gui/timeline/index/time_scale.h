#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace moeblaze::gui {

/// Instants from startNs until just before endNs.
struct TimeWindow {
  int64_t startNs = 0, endNs = 1;
  int64_t spanNs() const { return endNs - startNs; }
  bool contains(int64_t timeNs) const { return startNs <= timeNs && timeNs < endNs; }
  bool operator==(const TimeWindow&) const = default;
};

/// A line of an axis.
struct Tick {
  int64_t at = 0;  ///< ns or bytes
  std::string label;
};

/// Time from left to right over a number of pixels. Pure arithmetic on whole ns.
class TimeScale {
 public:
  /// `window` has a positive span; at least one pixel.
  TimeScale(TimeWindow window, int width) : window_(window), width_(width) {}

  const TimeWindow& window() const { return window_; }
  int width() const { return width_; }
  double nsPerPixel() const { return static_cast<double>(window_.spanNs()) / width_; }

  /// Pixels from the left edge; out of it for other times.
  double xOf(int64_t timeNs) const;
  /// The last whole ns at or before that place.
  int64_t timeAt(double x) const;
  /// The first ns that belongs to the column: those of column c are [edge(c), edge(c + 1)), which may be none.
  int64_t edge(int column) const;

  /// The window that shows `factor` times as much and keeps the time at `x` there.
  TimeWindow zoomed(double x, double factor, const TimeWindow& bounds) const;
  /// The window moved by that many pixels, to later times when positive.
  TimeWindow panned(double pixels, const TimeWindow& bounds) const;

  /// Round times about `pixelsApart` apart, labelled in the unit (ns, µs, ms, s) that suits the window.
  std::vector<Tick> ticks(double pixelsApart) const;

 private:
  TimeWindow window_;
  int width_;
};

/// `window` moved, and where it must be shrunk, into `bounds`; at least kMinSpanNs long.
TimeWindow clamped(TimeWindow window, const TimeWindow& bounds);
inline constexpr int64_t kMinSpanNs = 20;

/// "1.25 ms"; as many digits as tell times `resolutionNs` apart.
std::string timeText(int64_t timeNs, int64_t resolutionNs);
/// "1.25 ms", four digits.
std::string durationText(int64_t ns);

}  // namespace moeblaze::gui
