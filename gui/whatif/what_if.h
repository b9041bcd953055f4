#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>

#include "core/config/config.h"
#include "core/trace/trace.h"
#include "simulator/cost/simulation.h"

namespace moeblaze::gui {

/// What the fields of the page say, not checked yet.
struct WhatIfInputs {
  std::string config = "conf3";      ///< a built-in name or a file
  int64_t tokens = 0;                ///< 0 takes the number in the config
  std::string system = "moeblaze";   ///< with its parameters after colons
  std::string routing = "balanced";  ///< in the syntax of parseRouting
  std::string gpu = "h200";          ///< a built-in name or a file
  bool withRouter = false;
  double budgetGib = 0;  ///< 0 takes the memory of the GPU
  bool operator==(const WhatIfInputs&) const = default;
};

/// The field that a problem belongs to, where it is shown.
enum class WhatIfField : uint8_t { config, tokens, system, routing, gpu, budget };

struct WhatIfProblem {
  WhatIfField field = WhatIfField::config;
  std::string text;  ///< as the core wrote it
};

/// What a layer that does not exist yet would need, and its timeline.
struct WhatIfAnswer {
  Simulation simulation;
  Trace trace;
  int64_t tokens = 0;       ///< tokens of the simulated layer
  double imbalance = 1;     ///< the tokens of the busiest expert divided by the mean
  int64_t neededBytes = 0;  ///< peak, parameters and parameter gradients
  int64_t budgetBytes = 0;  ///< the memory that neededBytes must fit in
  bool fits() const { return neededBytes <= budgetBytes; }
};

/// Holds either an answer or a problem.
struct WhatIfResult {
  std::optional<WhatIfAnswer> answer;
  std::optional<WhatIfProblem> problem;
};

/// Turns inputs into an answer. It keeps the config, machine and routing of the last inputs, so that a change of one
/// field recomputes only what depends on it.
class WhatIf {
 public:
  /// Simulates the layer. Wrong inputs give a problem and no exception.
  WhatIfResult evaluate(const WhatIfInputs& inputs);
  /// The largest number of tokens that fits within the budget, with all other inputs the same. It is exact for balanced
  /// routing. For a drawn routing it is exact to a thousandth, and at most about a million. Nothing if not even one
  /// token fits, or if a file gives the tokens. Throws InputError for inputs in which evaluate() finds a problem, and
  /// Interrupted once a stop is requested.
  std::optional<int64_t> mostTokens(const WhatIfInputs& inputs, std::stop_token stop);
  /// Forgets what was loaded, so that files are read again.
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
