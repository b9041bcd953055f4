#include "gui/timeline/index/time_order.h"

#include <algorithm>
#include <array>
#include <utility>

namespace moeblaze::gui {
namespace {

constexpr int kDigitBits = 11;
constexpr size_t kDigits = size_t{1} << kDigitBits;

/// One pass of the radix sort: sorts by the digit of (time - startNs) that begins at bit `shift`.
void sortDigit(const std::vector<Timed>& from, std::vector<Timed>& to, int64_t startNs, int shift) {
  const auto digit = [&](const Timed& item) {
    return (static_cast<uint64_t>(item.timeNs) - static_cast<uint64_t>(startNs)) >> shift & (kDigits - 1);
  };
  std::array<size_t, kDigits> at{};
  for (const Timed& item : from) ++at[digit(item)];
  size_t sum = 0;
  for (size_t& count : at) sum += std::exchange(count, sum);
  for (const Timed& item : from) to[at[digit(item)]++] = item;
}

}  // namespace

void sortByTime(std::vector<Timed>& items, const Progress& progress) {
  if (std::ranges::is_sorted(items, {}, &Timed::timeNs)) return;
  if (items.size() < 4 * kDigits) {
    std::ranges::stable_sort(items, {}, &Timed::timeNs);
    return;
  }
  const auto [first, last] = std::ranges::minmax_element(items, {}, &Timed::timeNs);
  const int64_t startNs = first->timeNs;
  const uint64_t range = static_cast<uint64_t>(last->timeNs) - static_cast<uint64_t>(startNs);
  std::vector<Timed> other(items.size());
  for (int shift = 0; shift < 64 && range >> shift != 0; shift += kDigitBits) {
    progress.check();
    sortDigit(items, other, startNs, shift);
    items.swap(other);
  }
}

}  // namespace moeblaze::gui
