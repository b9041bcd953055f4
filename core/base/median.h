#pragma once

#include <algorithm>
#include <vector>

namespace moeblaze {

/// The upper middle one of `values`; zero when there is none.
template <typename Number>
Number median(std::vector<Number> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace moeblaze
