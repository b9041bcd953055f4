#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/config/config.h"
#include "core/trace/trace.h"
#include "simulator/cost/simulation.h"

namespace moeblaze::gui {

/// What the panel's fields say, unchecked.
struct WhatIfInputs {
  std::string config = "conf3";      ///< a built-in name, or a file
  int64_t tokens = 0;                ///< 0: the config's own
  std::string system = "moeblaze";   ///< parameters after colons
  std::string routing = "balanced";  ///< as parseRouting reads it
  std::string gpu = "h200";          ///< a built-in name, or a file
  bool withRouter = false;
  double budgetGib = 0;  ///< 0: the GPU's memory
  bool operator==(const WhatIfInputs&) const = default;
};

/// Where a problem lies, so that it can be shown there.
enum class WhatIfField : uint8_t { config, tokens, system, routing, gpu, budget };

struct WhatIfProblem {
  WhatIfField field = WhatIfField::config;
  std::string text;  ///< the core's own
};

/// A layer that is not there yet: what it would need, and its timeline.
struct WhatIfAnswer {
  Simulation simulation;
  Trace trace;
  int64_t tokens = 0;       ///< of the layer as simulated
  double imbalance = 1;     ///< busiest expert's tokens over the mean
  int64_t neededBytes = 0;  ///< peak, parameters and their gradients
  int64_t budgetBytes = 0;  ///< what they must fit in
  bool fits() const { return neededBytes <= budgetBytes; }
};

/// Either an answer or a problem.
struct WhatIfResult {
  std::optional<WhatIfAnswer> answer;
  std::optional<WhatIfProblem> problem;
};

/// Turns inputs into an answer. Keeps what was loaded and drawn for the last inputs, so that moving one of them costs
/// only what depends on it.
class WhatIf {
 public:
  WhatIfResult evaluate(const WhatIfInputs& inputs);
  /// The most tokens that fit within the budget, all else equal: exact for balanced routing, to a thousandth and no
  /// more than a million for a drawn one. Nothing when even one does not fit, or when a file gives the tokens. Throws
  /// InputError for inputs that evaluate() finds a problem in, and Interrupted once a stop is requested.
  std::optional<int64_t> mostTokens(const WhatIfInputs& inputs, std::stop_token stop);
  /// Reads the files again next time.
  void reload() { config_.reset(), machine_.reset(), routing_.reset(); }

 private:
  const ConfigSource& config(const std::string& text);
  const Machine& machine(const std::string& text);
  const Routing& routing(const std::string& text, const MoeConfig& config);

  std::optional<ConfigSource> config_;
  std::optional<Machine> machine_;
  std::optional<Routing> routing_;
  std::string configText_, machineText_, routingText_;
};

}  // namespace moeblaze::gui
