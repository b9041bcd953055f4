#include "gui/whatif/what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/error.h"
#include "core/base/interrupt.h"
#include "core/systems/system.h"

namespace moeblaze::gui {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr double kMaxBudgetGib = 1 << 20;

int64_t neededBytes(int64_t peak, int64_t weights) { return peak + 2 * weights; }

int64_t budgetBytes(const WhatIfInputs& inputs, const Machine& machine) {
  if (inputs.budgetGib == 0) return machine.memoryBytes;
  if (!(inputs.budgetGib > 0 && inputs.budgetGib <= kMaxBudgetGib))
    throw InputError(fmt::format("budget {} GiB: must be above 0 and up to {}", inputs.budgetGib, kMaxBudgetGib));
  return static_cast<int64_t>(inputs.budgetGib * kGib);
}

bool isFile(const std::string& routing) { return routing != "balanced" && !routing.starts_with("zipf:"); }

}  // namespace

const ConfigSource& WhatIf::config(const std::string& text) {
  if (!config_ || text != configText_) {
    config_ = loadConfig(text);
    configText_ = text;
  }
  return *config_;
}

const Machine& WhatIf::machine(const std::string& text) {
  if (!machine_ || text != machineText_) {
    machine_ = loadMachine(text);
    machineText_ = text;
  }
  return *machine_;
}

const Routing& WhatIf::routing(const std::string& text, const MoeConfig& config) {
  const std::string key = fmt::format("{}|{}|{}|{}", text, config.tokens, config.topK, config.experts);
  if (!routing_ || key != routingText_) {
    routing_ = parseRouting(text, config);
    routingText_ = key;
  }
  return *routing_;
}

WhatIfResult WhatIf::evaluate(const WhatIfInputs& inputs) {
  WhatIfField field = WhatIfField::config;
  try {
    MoeConfig layer = config(inputs.config).layer;
    field = WhatIfField::tokens;
    if (inputs.tokens != 0) layer.tokens = inputs.tokens;
    validate(layer, inputs.config);
    field = WhatIfField::system;
    const System system = System::parse(inputs.system);
    field = WhatIfField::gpu;
    const Machine& gpu = machine(inputs.gpu);
    field = WhatIfField::budget;
    const int64_t budget = budgetBytes(inputs, gpu);
    field = WhatIfField::routing;
    const Routing& chosen = routing(inputs.routing, layer);
    field = WhatIfField::system;  // a parameter of the system may not fit the config
    WhatIfAnswer answer;
    answer.simulation = simulate(layer, chosen, system, gpu, {inputs.withRouter});
    answer.trace = makeTrace(answer.simulation.plan, answer.simulation.stepNs);
    answer.tokens = layer.tokens;
    answer.imbalance = chosen.imbalance();
    answer.neededBytes = neededBytes(answer.simulation.memory.peak, answer.simulation.weightBytes);
    answer.budgetBytes = budget;
    return {.answer = std::move(answer), .problem = std::nullopt};
  } catch (const InputError& error) {
    return {.answer = std::nullopt, .problem = WhatIfProblem{field, error.what()}};
  }
}

std::optional<int64_t> WhatIf::mostTokens(const WhatIfInputs& inputs, std::stop_token stop) {
  if (isFile(inputs.routing)) return std::nullopt;
  constexpr int64_t kMaxDrawn = 1 << 20;  // drawing a routing of more tokens takes seconds
  const bool drawn = inputs.routing != "balanced";
  MoeConfig layer = config(inputs.config).layer;
  const System system = System::parse(inputs.system);
  const int64_t budget = budgetBytes(inputs, machine(inputs.gpu));
  const auto fits = [&](int64_t tokens) {
    if (stop.stop_requested()) throw Interrupted();
    layer.tokens = tokens;
    const Plan plan = buildPlan(layer, parseRouting(inputs.routing, layer), system, {inputs.withRouter});
    return neededBytes(memoryFigures(plan).peak, weightBytes(plan)) <= budget;
  };
  if (!fits(1)) return std::nullopt;
  // Doubling from 1 keeps the routings that have to be drawn small.
  const int64_t most = drawn ? std::min(kMaxDrawn, kMaxRows / layer.topK) : kMaxRows / layer.topK;
  int64_t low = 1, high = 2;
  while (high <= most && fits(high)) low = high, high *= 2;
  high = std::min(high, most + 1);
  while (high - low > (drawn ? std::max<int64_t>(1, low / 1000) : 1)) {
    const int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

}  // namespace moeblaze::gui
