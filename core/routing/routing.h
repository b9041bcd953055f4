#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"

namespace moeblaze {

/// Who goes where: the experts each token chose. Slot s = token·k + choice.
class Routing {
 public:
  /// As even as integers allow: slot s goes to expert s mod E. Stores counts only.
  static Routing balanced(const MoeConfig& config);
  /// Expert shares ∝ 1/rank^alpha, k drawn per token without replacement with a fixed seed.
  static Routing zipf(const MoeConfig& config, double alpha);
  /// The same draw for any shares (E of them, non-negative, at least k positive).
  static Routing fromShares(const MoeConfig& config, std::span<const double> shares, std::string text);
  /// A full table of expert ids [tokens, top_k]; each in [0, E), distinct within a token. Throws InputError otherwise.
  static Routing fromTable(const MoeConfig& config, std::vector<int32_t> table, std::string text);

  /// n_e for each expert; they sum to L·k.
  std::span<const int64_t> tokensPerExpert() const { return tokensPerExpert_; }
  /// Expert that `token` chose as its `choice`-th.
  int32_t expertOf(int64_t token, int64_t choice) const {
    const int64_t slot = token * topK_ + choice;
    return table_.empty() ? static_cast<int32_t>(slot % std::ssize(tokensPerExpert_)) : table_[slot];
  }
  /// Canonical text: `balanced`, `zipf:1.2`, `FILE.npy:3`, `shares:FILE.npy:3`.
  const std::string& text() const { return text_; }
  /// Busiest expert's tokens over the mean.
  double imbalance() const;

 private:
  Routing(const MoeConfig& config, std::string text);
  void setTable(std::vector<int32_t> table);

  int64_t topK_ = 0;
  std::vector<int64_t> tokensPerExpert_;
  std::vector<int32_t> table_;  ///< [tokens, top_k]; empty when balanced
  std::string text_;
};

/// `balanced`, `zipf:<alpha>`, `FILE.npy[:layer]` or `shares:FILE.npy[:layer]`, as the design defines them. Throws
/// InputError naming the file, the value and what is allowed.
Routing parseRouting(std::string_view text, const MoeConfig& config);

/// Compares expert ids [tokens, top_k] with the tokens planned for each expert. Returns a text that names the first
/// expert whose counts differ and both counts, or the first id that is no expert; empty when ids and counts agree.
std::string routingMismatch(std::span<const int64_t> tokensPerExpert, std::span<const int32_t> topkIds);

}  // namespace moeblaze
