#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string_view>

#include "core/base/error.h"
#include "core/config/config.h"

namespace moeblaze {

/// A whole-number key of a config, the member that holds it, and its range without regard to other fields.
struct IntegerField {
  std::string_view key;
  int64_t MoeConfig::*member;
  int64_t low;
  int64_t high;
  bool required = true;
};

inline constexpr std::array kIntegerFields{
    IntegerField{"d_model", &MoeConfig::dModel, 1, kMaxWidth},
    IntegerField{"d_ff", &MoeConfig::dFf, 1, kMaxWidth},
    IntegerField{"experts", &MoeConfig::experts, 1, kMaxExperts},
    IntegerField{"top_k", &MoeConfig::topK, 1, kMaxTopK},
    IntegerField{"tokens", &MoeConfig::tokens, 1, kMaxRows},
    IntegerField{"shared_experts", &MoeConfig::sharedExperts, 0, kMaxSharedExperts, false},
    IntegerField{"shared_d_ff", &MoeConfig::sharedDFf, 0, kMaxWidth, false},
};

/// The one of `values` whose name is `text`. Throws InputError "<where>: <field> 'x' is unknown; allowed: ...".
template <typename Enum, size_t N>
Enum parseName(std::string_view text, std::string_view where, std::string_view field,
               const std::array<Enum, N>& values) {
  std::array<std::string_view, N> names;
  for (size_t i = 0; i < N; ++i) {
    names[i] = name(values[i]);
    if (names[i] == text) return values[i];
  }
  throw InputError(fmt::format("{}: {} {} is unknown; allowed: {}{}", where, field, quote(text), listNames(names),
                               didYouMean(text, names)));
}

}  // namespace moeblaze
