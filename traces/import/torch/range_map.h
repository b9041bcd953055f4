#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace moeblaze {

/// Disjoint ranges of addresses, each with an index.
class RangeMap {
 public:
  struct Range {
    uint64_t begin = 0, end = 0;
    size_t value = 0;
  };

  /// Adds a range; none may overlap it.
  void add(const Range& range);
  /// Makes the range and those with `value` that touch it one.
  void addMerged(Range range);
  /// Cuts [begin, end) out and returns what was there, each part with its value, in order of address.
  std::vector<Range> cut(uint64_t begin, uint64_t end);
  /// The end of the range that holds `address`; `address` itself when none does.
  uint64_t endAt(uint64_t address) const;
  std::vector<Range> all() const;

 private:
  struct Tail {
    uint64_t end;
    size_t value;
  };
  std::map<uint64_t, Tail> ranges_;  ///< by begin
};

}  // namespace moeblaze
