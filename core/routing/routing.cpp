#include "core/routing/routing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>

#include "core/base/error.h"
#include "core/base/npy.h"
#include "core/routing/expert_sampler.h"

namespace moeblaze {
namespace {

constexpr uint64_t kSeed = 20260115;
constexpr double kMaxAlpha = 16;
constexpr int64_t kMaxDrawnRows = int64_t{1} << 26;  // about 2 s and 256 MiB
constexpr int64_t kMaxFileExperts = kMaxExperts;
constexpr std::array<std::string_view, 3> kWords{"balanced", "zipf:", "shares:"};
constexpr std::string_view kAllowed = "balanced, zipf:<alpha>, FILE.npy[:layer], shares:FILE.npy[:layer]";

void checkExpert(int64_t expert, int64_t slot, int64_t topK, int64_t experts, std::string_view text) {
  if (expert >= 0 && expert < experts) return;
  refuse(text, "token {} choice {} is expert {}; allowed 0 to {}", slot / topK, slot % topK, expert, experts - 1);
}

/// `FILE.npy[:layer]` and the expert ids in it.
struct RoutingFile {
  std::string path;
  std::optional<int64_t> layer;
  std::string text;  ///< canonical

  explicit RoutingFile(std::string_view spelled) : path(spelled) {
    const size_t colon = spelled.rfind(':');
    const std::string_view digits = colon == std::string_view::npos ? "" : spelled.substr(colon + 1);
    if (!digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos) {
      int64_t number = std::numeric_limits<int64_t>::max();  // stays when the digits overflow
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
      layer = number;
      path = spelled.substr(0, colon);
    }
    text = layer ? fmt::format("{}:{}", path, *layer) : path;
  }

  bool looksLikeFile() const {
    std::error_code error;
    return path.ends_with(".npy") || std::filesystem::exists(path, error);
  }
};

struct LayerIds {
  int64_t tokens = 0;
  int64_t topK = 0;
  std::vector<int64_t> ids;
};

LayerIds readLayer(const RoutingFile& file) {
  NpyArray array = readNpy(file.path);
  const std::vector<int64_t>& shape = array.shape;
  if (shape.size() != 2 && shape.size() != 3) {
    refuse(file.path, "has {} dimensions; allowed: [tokens, top_k] or [layers, tokens, top_k]", shape.size());
  }
  if (array.values.empty()) refuse(file.path, "holds no expert ids; its shape is {}", fmt::join(shape, " x "));
  const int64_t topK = shape.back();
  const int64_t tokens = shape[shape.size() - 2];
  if (shape.size() == 2) {
    if (file.layer) refuse(file.text, "layer {} of a file of one layer; allowed: {}", *file.layer, file.path);
    return {tokens, topK, std::move(array.values)};
  }
  const int64_t layers = shape[0];
  if (!file.layer) refuse(file.path, "layer is missing; allowed: {0}:0 to {0}:{1}", file.path, layers - 1);
  if (*file.layer >= layers) refuse(file.text, "layer {} is out of range; allowed 0 to {}", *file.layer, layers - 1);
  const auto first = array.values.begin() + *file.layer * tokens * topK;
  return {tokens, topK, {first, first + tokens * topK}};
}

Routing tableFromFile(const RoutingFile& file, const MoeConfig& config) {
  const LayerIds layer = readLayer(file);
  if (layer.tokens != config.tokens) {
    refuse(file.text, "has {0} tokens, the config {1}; allowed: --tokens {0}, or shares:{2}", layer.tokens,
           config.tokens, file.text);
  }
  if (layer.topK != config.topK) {
    refuse(file.text, "has top_k {}, the config {}; allowed: shares:{}", layer.topK, config.topK, file.text);
  }
  std::vector<int32_t> table(layer.ids.size());
  for (size_t slot = 0; slot < table.size(); ++slot) {
    // Before narrowing: a wide id must not wrap into the range.
    checkExpert(layer.ids[slot], static_cast<int64_t>(slot), config.topK, config.experts, file.text);
    table[slot] = static_cast<int32_t>(layer.ids[slot]);
  }
  return Routing::fromTable(config, std::move(table), file.text);
}

/// Merges or splits `shares` to `experts` ones: a piecewise-constant density over [0, 1], integrated over equal bins.
std::vector<double> resample(std::span<const double> shares, int64_t experts) {
  const int64_t from = std::ssize(shares);
  std::vector<double> result(static_cast<size_t>(experts), 0.0);
  // In units of 1 / (from · experts) every bin edge is a whole number.
  for (int64_t position = 0, end = from * experts; position < end;) {
    const int64_t in = position / experts;
    const int64_t out = position / from;
    const int64_t next = std::min((in + 1) * experts, (out + 1) * from);
    result[out] += shares[in] * static_cast<double>(next - position) / static_cast<double>(experts);
    position = next;
  }
  return result;
}

Routing sharesFromFile(const RoutingFile& file, const MoeConfig& config) {
  const LayerIds layer = readLayer(file);
  std::vector<double> shares;
  for (int64_t slot = 0; slot < std::ssize(layer.ids); ++slot) {
    const int64_t expert = layer.ids[slot];
    checkExpert(expert, slot, layer.topK, kMaxFileExperts, file.text);
    if (expert >= std::ssize(shares)) shares.resize(expert + 1);
    ++shares[expert];
  }
  std::ranges::sort(shares, std::greater());
  return Routing::fromShares(config, resample(shares, config.experts), "shares:" + file.text);
}

Routing zipfFromText(std::string_view text, const MoeConfig& config) {
  double alpha = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), alpha);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw InputError(fmt::format("zipf alpha {} is not a number; allowed 0 to {}", quote(text), kMaxAlpha));
  }
  return Routing::zipf(config, alpha);
}

}  // namespace

Routing::Routing(const MoeConfig& config, std::string text)
    : topK_(config.topK), tokensPerExpert_(static_cast<size_t>(config.experts)), text_(std::move(text)) {
  assert(config.topK >= 1 && config.topK <= config.experts && config.tokens >= 1);
}

void Routing::setTable(std::vector<int32_t> table) {
  table_ = std::move(table);
  for (int32_t expert : table_) ++tokensPerExpert_[expert];
}

Routing Routing::balanced(const MoeConfig& config) {
  Routing routing(config, "balanced");
  const auto even = config.rows() / config.experts;
  std::ranges::fill(routing.tokensPerExpert_, even);
  for (int64_t expert = 0; expert < config.rows() % config.experts; ++expert) ++routing.tokensPerExpert_[expert];
  return routing;
}

Routing Routing::zipf(const MoeConfig& config, double alpha) {
  if (!(alpha >= 0 && alpha <= kMaxAlpha)) {
    throw InputError(fmt::format("zipf alpha {} is out of range; allowed 0 to {}", alpha, kMaxAlpha));
  }
  std::vector<double> shares(static_cast<size_t>(config.experts));
  for (size_t i = 0; i < shares.size(); ++i) shares[i] = std::pow(static_cast<double>(i + 1), -alpha);
  return fromShares(config, shares, fmt::format("zipf:{}", std::abs(alpha)));
}

Routing Routing::fromShares(const MoeConfig& config, std::span<const double> shares, std::string text) {
  if (config.rows() > kMaxDrawnRows) {
    refuse(text, "{} tokens with top_k {} are too many rows to draw; allowed up to {}", config.tokens, config.topK,
           kMaxDrawnRows);
  }
  if (std::ssize(shares) != config.experts) {
    refuse(text, "has {} shares; allowed: one for each of {} experts", shares.size(), config.experts);
  }
  for (size_t i = 0; i < shares.size(); ++i) {
    if (!(shares[i] >= 0 && std::isfinite(shares[i]))) {
      refuse(text, "share {} of expert {} is out of range; allowed: 0 or more", shares[i], i);
    }
  }
  ExpertSampler sampler(shares, kSeed);
  if (std::ssize(sampler) < config.topK) {
    refuse(text, "only {} experts have a share; allowed: at least top_k {}", sampler.size(), config.topK);
  }
  Routing routing(config, std::move(text));
  std::vector<int32_t> table(static_cast<size_t>(config.rows()));
  for (int64_t token = 0; token < config.tokens; ++token) {
    sampler.draw(std::span(table).subspan(token * config.topK, config.topK));
  }
  routing.setTable(std::move(table));
  return routing;
}

Routing Routing::fromTable(const MoeConfig& config, std::vector<int32_t> table, std::string text) {
  if (std::ssize(table) != config.rows()) {
    refuse(text, "has {} ids; allowed: {} ({} tokens x top_k {})", table.size(), config.rows(), config.tokens,
           config.topK);
  }
  std::vector<int64_t> lastToken(static_cast<size_t>(config.experts), -1);
  for (int64_t slot = 0; slot < std::ssize(table); ++slot) {
    const int32_t expert = table[slot];
    checkExpert(expert, slot, config.topK, config.experts, text);
    const int64_t token = slot / config.topK;
    if (lastToken[expert] == token) {
      refuse(text, "token {} choice {} is expert {} again; allowed: distinct experts", token, slot % config.topK,
             expert);
    }
    lastToken[expert] = token;
  }
  Routing routing(config, std::move(text));
  routing.setTable(std::move(table));
  return routing;
}

double Routing::imbalance() const {
  const auto total = std::accumulate(tokensPerExpert_.begin(), tokensPerExpert_.end(), int64_t{0});
  const auto mean = static_cast<double>(total) / static_cast<double>(tokensPerExpert_.size());
  return static_cast<double>(std::ranges::max(tokensPerExpert_)) / mean;
}

Routing parseRouting(std::string_view text, const MoeConfig& config) {
  constexpr std::string_view kZipf = "zipf:";
  constexpr std::string_view kShares = "shares:";
  if (text == "balanced") return Routing::balanced(config);
  if (text.starts_with(kZipf)) return zipfFromText(text.substr(kZipf.size()), config);
  const bool shares = text.starts_with(kShares);
  const RoutingFile file(shares ? text.substr(kShares.size()) : text);
  if (!file.looksLikeFile()) {
    throw InputError(fmt::format("unknown routing {}; allowed: {}{}", quote(text), kAllowed, didYouMean(text, kWords)));
  }
  return shares ? sharesFromFile(file, config) : tableFromFile(file, config);
}

std::string routingMismatch(std::span<const int64_t> tokensPerExpert, std::span<const int32_t> topkIds) {
  std::vector<int64_t> given(tokensPerExpert.size());
  for (size_t slot = 0; slot < topkIds.size(); ++slot) {
    const int32_t expert = topkIds[slot];
    if (expert < 0 || expert >= std::ssize(given))
      return fmt::format("slot {} goes to expert {}; allowed 0 to {}", slot, expert, std::ssize(given) - 1);
    ++given[expert];
  }
  for (size_t expert = 0; expert < given.size(); ++expert)
    if (given[expert] != tokensPerExpert[expert])
      return fmt::format("expert {} is given {} tokens, but {} are planned", expert, given[expert],
                         tokensPerExpert[expert]);
  return {};
}

}  // namespace moeblaze
