#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/trace/trace.h"
#include "gui/timeline/index/time_scale.h"

namespace moeblaze::gui {

/// A value that changes at instants and stays between them: 0 before the first. Drawn at any zoom from blocks that know
/// their least and greatest value. Immutable.
class StepCurve {
 public:
  /// Least and greatest value during a pixel column, what it entered with included.
  struct Column {
    int64_t entering = 0, least = 0, greatest = 0;
  };

  StepCurve() = default;
  /// `times` ascend; of equal ones the last counts.
  StepCurve(std::span<const int64_t> times, std::span<const int64_t> values);

  std::span<const int64_t> times() const { return times_; }
  std::span<const int64_t> values() const { return values_; }
  int64_t at(int64_t timeNs) const;
  /// The first point with the greatest value; zero when there is none.
  MemoryCurve::Point greatest() const;
  std::vector<Column> columns(const TimeScale& scale) const;

 private:
  static constexpr size_t kBlock = 256;

  size_t after(int64_t timeNs) const;
  void add(size_t first, size_t last, Column& column) const;

  std::vector<int64_t> times_, values_;
  std::vector<Column> blocks_;
};

/// `b` less `a` at every instant at which either changes.
StepCurve difference(const StepCurve& a, const StepCurve& b);

}  // namespace moeblaze::gui
