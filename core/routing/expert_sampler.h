#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

namespace moeblaze {

/// The SplitMix64 generator. Unlike the standard distributions it gives the same numbers on every platform.
class SplitMix64 {
 public:
  explicit SplitMix64(uint64_t seed) : state_(seed) {}

  /// Uniform in [0, 1).
  double uniform() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

 private:
  uint64_t state_;
};

/// Draws experts without replacement, each with a probability in proportion to its share of those that are left.
///
/// Experts are sorted by falling share. mass_[i] is the sum of the shares of expert i and all after it, added from the
/// smallest on. The mass of a gap between two chosen experts is the difference of two such sums, which stays precise
/// however steep the shares are. A draw therefore needs no rejection: it finds the gap that the random number falls
/// into, then searches inside the gap, in O(k + log E) for k experts already chosen.
class ExpertSampler {
 public:
  ExpertSampler(std::span<const double> shares, uint64_t seed) : random_(seed) {
    for (size_t i = 0; i < shares.size(); ++i) {
      if (shares[i] > 0) experts_.push_back(static_cast<int32_t>(i));
    }
    std::ranges::stable_sort(experts_, std::greater(), [&](int32_t expert) { return shares[expert]; });
    mass_.assign(experts_.size() + 1, 0);
    for (size_t i = experts_.size(); i-- > 0;) mass_[i] = mass_[i + 1] + shares[experts_[i]];
  }

  /// Number of experts that can be drawn, which are those with a share above 0.
  size_t size() const { return experts_.size(); }

  /// Fills `chosen` with distinct experts in the order drawn. It must have at most size() places.
  void draw(std::span<int32_t> chosen) {
    taken_.clear();
    for (int32_t& expert : chosen) {
      const size_t position = drawPosition();
      taken_.insert(std::ranges::lower_bound(taken_, position), position);
      expert = experts_[position];
    }
  }

 private:
  /// The positions [begin, end) of experts_, none of which is taken.
  struct Gap {
    size_t begin;
    size_t end;
  };

  double massOf(Gap gap) const { return mass_[gap.begin] - mass_[gap.end]; }

  /// The gap before the `index`-th taken expert, or behind the last one; it may be empty.
  Gap gap(size_t index) const {
    return {index == 0 ? 0 : taken_[index - 1] + 1, index == taken_.size() ? experts_.size() : taken_[index]};
  }

  size_t drawPosition() {
    double total = 0;
    for (size_t i = 0; i <= taken_.size(); ++i) total += massOf(gap(i));
    double left = random_.uniform() * total;
    Gap found{};
    double inside = 0;
    for (size_t i = 0; i <= taken_.size(); ++i) {
      const Gap next = gap(i);
      if (next.begin == next.end) continue;  // so that `found` has an expert even if rounding leaves mass over
      found = next;
      inside = left;
      left -= massOf(next);
      if (left < 0) break;
    }
    const auto first = mass_.begin() + static_cast<std::ptrdiff_t>(found.begin);
    const auto last = mass_.begin() + static_cast<std::ptrdiff_t>(found.end);
    const auto after = std::upper_bound(first + 1, last, *first - inside, std::greater());
    return static_cast<size_t>(after - mass_.begin()) - 1;
  }

  std::vector<int32_t> experts_;  ///< sorted by falling share
  std::vector<double> mass_;      ///< [i] is the share of experts_[i] and of all after it; the last is 0
  std::vector<size_t> taken_;     ///< positions in experts_ that are drawn already, ascending
  SplitMix64 random_;
};

}  // namespace moeblaze
