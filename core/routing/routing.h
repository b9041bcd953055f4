#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"

namespace moeblaze {

/// The experts that each token chose. Slot s = token·k + choice is one such choice.
class Routing {
 public:
  /// As even as integers allow: slot s goes to expert s mod E. Only the counts are stored.
  static Routing balanced(const MoeConfig& config);
  /// The share of the expert of rank r is proportional to 1/r^alpha. Each token draws k experts without replacement,
  /// with a fixed seed. Throws InputError when `alpha` is out of range or the layer has too many rows to draw.
  static Routing zipf(const MoeConfig& config, double alpha);
  /// The same draw for any `shares` [E], which must not be negative, and at least k of which must be above 0. Throws
  /// InputError otherwise.
  static Routing fromShares(const MoeConfig& config, std::span<const double> shares, std::string text);
  /// A table of expert ids [L, k], each in [0, E) and distinct within a token. Throws InputError otherwise.
  static Routing fromTable(const MoeConfig& config, std::vector<int32_t> table, std::string text);

  /// The number of tokens of each expert [E]; they add up to L·k.
  std::span<const int64_t> tokensPerExpert() const { return tokensPerExpert_; }
  /// The expert that `token` chose as its `choice`-th.
  int32_t expertOf(int64_t token, int64_t choice) const {
    const int64_t slot = token * topK_ + choice;
    return table_.empty() ? static_cast<int32_t>(slot % std::ssize(tokensPerExpert_)) : table_[slot];
  }
  /// Canonical text: `balanced`, `zipf:1.2`, `FILE.npy:3`, `shares:FILE.npy:3`.
  const std::string& text() const { return text_; }
  /// Tokens of the busiest expert over the mean.
  double imbalance() const;

 private:
  Routing(const MoeConfig& config, std::string text);
  void setTable(std::vector<int32_t> table);

  int64_t topK_ = 0;
  std::vector<int64_t> tokensPerExpert_;
  std::vector<int32_t> table_;  ///< [L, k]; empty when balanced
  std::string text_;
};

/// The routing that `text` describes: `balanced`, `zipf:<alpha>`, `FILE.npy[:layer]` (a table of expert ids) or
/// `shares:FILE.npy[:layer]` (only the shares of the experts in that table, largest first, for any config). Throws
/// InputError, which names the file, the value and what is allowed.
Routing parseRouting(std::string_view text, const MoeConfig& config);

/// Says how a table of expert ids [L, k] disagrees with the tokens that a Plan has for each expert [E]; empty when they
/// agree.
std::string routingMismatch(std::span<const int64_t> tokensPerExpert, std::span<const int32_t> topkIds);

}  // namespace moeblaze
