#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace moeblaze {

/// Disjoint ranges of addresses [begin, end), each with a value.
class RangeMap {
 public:
  struct Range {
    uint64_t begin = 0, end = 0;
    size_t value = 0;
  };

  /// Adds a range, which must not overlap another.
  void add(const Range& range);
  /// Adds a range and joins it with the ranges of the same value that touch it.
  void addMerged(Range range);
  /// Removes [begin, end) and returns the parts that were there, by ascending address.
  std::vector<Range> cut(uint64_t begin, uint64_t end);
  /// The end of the range that contains `address`; `address` itself when none does.
  uint64_t endAt(uint64_t address) const;
  /// All ranges by ascending address.
  std::vector<Range> all() const;

 private:
  struct Tail {
    uint64_t end;
    size_t value;
  };
  std::map<uint64_t, Tail> ranges_;  ///< by where they begin
};

}  // namespace moeblaze
