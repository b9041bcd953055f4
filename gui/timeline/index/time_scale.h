#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace moeblaze::gui {

/// The instants from startNs up to, but not including, endNs.
struct TimeWindow {
  int64_t startNs = 0, endNs = 1;
  int64_t spanNs() const { return endNs - startNs; }
  bool contains(int64_t timeNs) const { return startNs <= timeNs && timeNs < endNs; }
  bool operator==(const TimeWindow&) const = default;
};

/// A mark on an axis.
struct Tick {
  int64_t at = 0;  ///< ns or bytes
  std::string label;
};

/// Maps time to pixels from left to right, with exact arithmetic on whole nanoseconds.
class TimeScale {
 public:
  /// `window` must have a positive span, and `width`, in pixels, must be at least 1.
  TimeScale(TimeWindow window, int width) : window_(window), width_(width) {}

  const TimeWindow& window() const { return window_; }
  int width() const { return width_; }
  double nsPerPixel() const { return static_cast<double>(window_.spanNs()) / width_; }

  /// The place of a time in pixels from the left edge; outside the width for times outside the window.
  double xOf(int64_t timeNs) const;
  /// The last whole nanosecond at or before a place.
  int64_t timeAt(double x) const;
  /// The first nanosecond that belongs to a column. Column c holds the times [edge(c), edge(c + 1)), which may be
  /// empty.
  int64_t edge(int column) const;

  /// The window that shows `factor` times as much time and keeps the time at `x` in its place, within `bounds`.
  TimeWindow zoomed(double x, double factor, const TimeWindow& bounds) const;
  /// The window moved by a number of pixels, to later times if positive, within `bounds`.
  TimeWindow panned(double pixels, const TimeWindow& bounds) const;

  /// Round times about `pixelsApart` pixels apart, written in the unit (ns, µs, ms, s) that suits the window.
  std::vector<Tick> ticks(double pixelsApart) const;

 private:
  TimeWindow window_;
  int width_;
};

/// Moves `window` into `bounds`, and shrinks it if it is longer. The result is at least kMinSpanNs long if `bounds` is.
TimeWindow clamped(TimeWindow window, const TimeWindow& bounds);
inline constexpr int64_t kMinSpanNs = 20;

/// Writes a time, as in "1.25 ms", with enough digits to tell apart times that differ by `resolutionNs`.
std::string timeText(int64_t timeNs, int64_t resolutionNs);
/// Writes a duration with four digits, as in "1.250 ms"; below 1 µs in whole nanoseconds.
std::string durationText(int64_t ns);

}  // namespace moeblaze::gui
