#include "gui/compare/step_curve.h"

#include <algorithm>

namespace moeblaze::gui {

StepCurve::StepCurve(std::span<const int64_t> times, std::span<const int64_t> values) {
  times_.reserve(times.size());
  values_.reserve(times.size());
  for (size_t i = 0; i < times.size(); ++i) {
    if (!times_.empty() && times_.back() == times[i]) {
      values_.back() = values[i];
      continue;
    }
    times_.push_back(times[i]);
    values_.push_back(values[i]);
  }
  for (size_t first = 0; first < values_.size(); first += kBlock) {
    const auto part = std::span(values_).subspan(first, std::min(kBlock, values_.size() - first));
    blocks_.push_back({part.front(), std::ranges::min(part), std::ranges::max(part)});
  }
}

size_t StepCurve::after(int64_t timeNs) const {
  return static_cast<size_t>(std::ranges::upper_bound(times_, timeNs) - times_.begin());
}

int64_t StepCurve::at(int64_t timeNs) const {
  const size_t next = after(timeNs);
  return next == 0 ? 0 : values_[next - 1];
}

MemoryCurve::Point StepCurve::greatest() const {
  const auto found = std::ranges::max_element(values_);
  if (found == values_.end()) return {};
  return {times_[static_cast<size_t>(found - values_.begin())], *found};
}

void StepCurve::add(size_t first, size_t last, Column& column) const {
  const auto see = [&](int64_t least, int64_t greatest) {
    column.least = std::min(column.least, least);
    column.greatest = std::max(column.greatest, greatest);
  };
  while (first < last) {
    if (first % kBlock == 0 && first + kBlock <= last) {
      const Column& block = blocks_[first / kBlock];
      see(block.least, block.greatest);
      first += kBlock;
    } else {
      see(values_[first], values_[first]);
      ++first;
    }
  }
}

std::vector<StepCurve::Column> StepCurve::columns(const TimeScale& scale) const {
  std::vector<Column> columns(static_cast<size_t>(scale.width()));
  size_t first = after(scale.edge(0) - 1);
  for (int c = 0; c < scale.width(); ++c) {
    const size_t last = std::max(first, after(scale.edge(c + 1) - 1));
    const int64_t entering = first == 0 ? 0 : values_[first - 1];
    Column& column = columns[static_cast<size_t>(c)] = {entering, entering, entering};
    add(first, last, column);
    first = last;
  }
  return columns;
}

StepCurve difference(const StepCurve& a, const StepCurve& b) {
  std::vector<int64_t> times, values;
  times.reserve(a.times().size() + b.times().size());
  values.reserve(times.capacity());
  int64_t aNow = 0, bNow = 0;
  for (size_t i = 0, j = 0; i < a.times().size() || j < b.times().size();) {
    const int64_t aTime = i < a.times().size() ? a.times()[i] : kNever;
    const int64_t bTime = j < b.times().size() ? b.times()[j] : kNever;
    if (aTime <= bTime) aNow = a.values()[i++];
    if (bTime <= aTime) bNow = b.values()[j++];
    times.push_back(std::min(aTime, bTime));
    values.push_back(bNow - aNow);
  }
  return StepCurve(times, values);
}

}  // namespace moeblaze::gui
