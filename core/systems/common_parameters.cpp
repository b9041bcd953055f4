#include "core/systems/common_parameters.h"

#include <charconv>
#include <string>

#include "core/base/error.h"

namespace moeblaze {
namespace {

/// `text` as a number; `otherwise` when it is a word.
template <typename Number>
Number numberIn(std::string_view text, Number otherwise) {
  std::from_chars(text.data(), text.data() + text.size(), otherwise);
  return otherwise;
}

}  // namespace

int64_t chunkOf(const MoeConfig& config, const System& system) {
  const int64_t chunk = numberIn<int64_t>(system.value(kChunkParameter.name), 0);
  if (chunk > config.experts)
    refuse("system " + std::string(system.info().name),
           "chunk {} exceeds the config's {} experts; allowed 1 to {}, or all", chunk, config.experts, config.experts);
  return chunk;
}

double capacityOf(const MoeConfig& config, const System& system) {
  constexpr double kDefaultCapacity = 1.25;
  const std::string_view text = system.value(kCapacityParameter.name);
  if (text == "config") return config.capacityFactor.value_or(kDefaultCapacity);
  return numberIn(text, kDefaultCapacity);
}

}  // namespace moeblaze
