#include "core/config/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/config/config_fields.h"

namespace moeblaze {
namespace {

void validateShared(const MoeConfig& config, std::string_view source) {
  if (config.sharedExperts == 0) return;
  const int64_t widest = kMaxWidth / config.sharedExperts;
  if (config.sharedDFf >= 1 && config.sharedDFf <= widest) return;
  refuse(source, "shared_d_ff {} with shared_experts {} is out of range; allowed 1 to {}", config.sharedDFf,
         config.sharedExperts, widest);
}

}  // namespace

void validate(const MoeConfig& config, std::string_view source) {
  for (const IntegerField& field : kIntegerFields) {
    const int64_t value = config.*field.member;
    if (field.member == &MoeConfig::topK && value > config.experts) {
      refuse(source, "top_k {} exceeds experts {}; allowed 1 to {}", value, config.experts,
             std::min(config.experts, kMaxTopK));
    }
    if (value < field.low || value > field.high) {
      refuse(source, "{} {} is out of range; allowed {} to {}", field.key, value, field.low, field.high);
    }
  }
  if (const int64_t most = kMaxRows / config.topK; config.tokens > most) {
    refuse(source, "tokens {} with top_k {} is over {} routed rows; allowed 1 to {}", config.tokens, config.topK,
           kMaxRows, most);
  }
  validateShared(config, source);
  if (config.capacityFactor) {
    const double factor = *config.capacityFactor;
    const auto most = static_cast<double>(config.experts);
    if (!std::isfinite(factor) || factor <= 0 || factor > most) {
      refuse(source, "capacity_factor {} is out of range; allowed above 0 to {}", factor, most);
    }
  }
}

Activation parseActivation(std::string_view text, std::string_view where) {
  return parseName(text, where, "activation", kActivations);
}

}  // namespace moeblaze
