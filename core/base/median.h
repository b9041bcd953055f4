#pragma once

#include <algorithm>
#include <vector>

namespace moeblaze {

/// The median of `values`; of an even number the upper of the two middle ones. Zero when there are none.
template <typename Number>
Number median(std::vector<Number> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace moeblaze
