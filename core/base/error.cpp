#include "core/base/error.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <vector>

namespace moeblaze {
namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Levenshtein distance, without regard to case.
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t substituted = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row.back();
}

}  // namespace

std::string nearestName(std::string_view word, std::span<const std::string_view> candidates) {
  constexpr size_t kMaxWord = 64;  // longer words are no misspellings, and the distance takes quadratic time
  if (word.empty() || word.size() > kMaxWord) return {};
  std::string_view best;
  size_t bestDistance = std::max<size_t>(2, word.size() / 3) + 1;
  for (std::string_view candidate : candidates) {
    const size_t distance = editDistance(word, candidate);
    if (distance < bestDistance && distance < candidate.size()) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return std::string(best);
}

std::string didYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string nearest = nearestName(word, candidates);
  return nearest.empty() ? std::string() : fmt::format("; did you mean '{}'?", nearest);
}

std::string listNames(std::span<const std::string_view> names) { return fmt::format("{}", fmt::join(names, ", ")); }

std::string quote(std::string_view text) {
  constexpr size_t kMaxLength = 60;
  std::string line;
  for (char c : text.substr(0, kMaxLength)) line += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  return fmt::format("'{}{}'", line, text.size() > kMaxLength ? "..." : "");
}

}  // namespace moeblaze
