#include "traces/import/torch/range_map.h"

#include <algorithm>
#include <iterator>

namespace moeblaze {

void RangeMap::add(const Range& range) {
  if (range.begin < range.end) ranges_.emplace(range.begin, Tail{range.end, range.value});
}

void RangeMap::addMerged(Range range) {
  if (const auto after = ranges_.find(range.end); after != ranges_.end() && after->second.value == range.value) {
    range.end = after->second.end;
    ranges_.erase(after);
  }
  const auto next = ranges_.lower_bound(range.begin);
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end == range.begin && before->second.value == range.value) {
      before->second.end = range.end;
      return;
    }
  }
  add(range);
}

std::vector<RangeMap::Range> RangeMap::cut(uint64_t begin, uint64_t end) {
  std::vector<Range> parts;
  if (begin >= end) return parts;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second.end > begin) --it;
  while (it != ranges_.end() && it->first < end) {
    const Range whole{it->first, it->second.end, it->second.value};
    it = ranges_.erase(it);
    parts.push_back({std::max(whole.begin, begin), std::min(whole.end, end), whole.value});
    add({whole.begin, std::min(whole.end, begin), whole.value});
    add({std::max(whole.begin, end), whole.end, whole.value});
  }
  return parts;
}

uint64_t RangeMap::endAt(uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return address;
  return std::max(address, std::prev(after)->second.end);
}

std::vector<RangeMap::Range> RangeMap::all() const {
  std::vector<Range> result;
  for (const auto& [begin, tail] : ranges_) result.push_back({begin, tail.end, tail.value});
  return result;
}

}  // namespace moeblaze
