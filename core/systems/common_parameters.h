#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/systems/system.h"

namespace moeblaze {

/// A value of an enumeration for each allowed word of a parameter; the first is its default.
template <typename Enum, size_t N>
using Choices = std::array<std::pair<std::string_view, Enum>, N>;

/// The words of `choices`, for SystemParameter::words.
template <typename Enum, size_t N>
constexpr std::array<std::string_view, N> wordsOf(const Choices<Enum, N>& choices) {
  std::array<std::string_view, N> words;
  for (size_t i = 0; i < N; ++i) words[i] = choices[i].first;
  return words;
}

/// What `word` stands for in `choices`, or the default when it is none of them.
template <typename Enum, size_t N>
Enum choose(std::string_view word, const Choices<Enum, N>& choices) {
  for (const auto& [name, value] : choices)
    if (name == word) return value;
  return choices.front().second;
}

// Parameters that systems of several families have.

inline constexpr std::array<std::string_view, 1> kChunkWords{"all"};
inline constexpr SystemParameter kChunkParameter{"chunk", kChunkWords, SystemParameter::Number::experts, "all",
                                                 "experts run at a time"};

inline constexpr std::array<std::string_view, 1> kCapacityWords{"config"};
inline constexpr SystemParameter kCapacityParameter{
    "capacity", kCapacityWords, SystemParameter::Number::positive, "config",
    "rows of an expert over the mean; config = its capacity_factor, or 1.25"};

/// The value of kChunkParameter: how many experts run at a time, 0 for all. Throws InputError when the config has fewer
/// experts.
int64_t chunkOf(const MoeConfig& config, const System& system);

/// The value of kCapacityParameter: the given factor, or else the config's, or else 1.25.
double capacityOf(const MoeConfig& config, const System& system);

}  // namespace moeblaze
