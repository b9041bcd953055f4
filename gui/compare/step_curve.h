#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

/// A value that changes at instants and is constant between them; it is 0 before the first one. It can be drawn at any
/// zoom, since blocks of points know their least and greatest value. Immutable.
class StepCurve {
 public:
  /// The value just before a pixel column, and the least and greatest one in it, that first value included.
  struct Column {
    int64_t entering = 0, least = 0, greatest = 0;
  };

  StepCurve() = default;
  /// `times` must be in ascending order; of several values at one instant the last one counts.
  StepCurve(std::span<const int64_t> times, std::span<const int64_t> values);

  std::span<const int64_t> times() const { return times_; }
  std::span<const int64_t> values() const { return values_; }
  /// The value at an instant.
  int64_t at(int64_t timeNs) const;
  /// The first point with the greatest value; a point of zeros when the curve is empty.
  MemoryCurve::Point greatest() const;
  /// One column for each pixel of `scale`.
  std::vector<Column> columns(const TimeScale& scale) const;

 private:
  static constexpr size_t kBlock = 256;

  size_t after(int64_t timeNs) const;
  void add(size_t first, size_t last, Column& column) const;

  std::vector<int64_t> times_, values_;
  std::vector<Column> blocks_;
};

/// The curve of `b` minus `a`, with a point wherever either curve has one.
StepCurve difference(const StepCurve& a, const StepCurve& b);

}  // namespace moeblaze::gui
