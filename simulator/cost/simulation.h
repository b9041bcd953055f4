#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/systems/system.h"
#include "core/trace/trace.h"
#include "simulator/cost/machine.h"

namespace moeblaze {

/// What one system's layer needs on one machine, and how long it takes.
struct Simulation {
  Plan plan;
  Machine machine;
  MemoryFigures memory;
  int64_t routerBytes = 0;      ///< see routerSavedBytes(); part of memory.saved only when the router is planned
  int64_t weightBytes = 0;      ///< of parameters; their gradients take as much again
  std::vector<int64_t> stepNs;  ///< predicted time of each Step
  int64_t forwardNs = 0;
  int64_t backwardNs = 0;
  double forwardFlops = 0;
  double backwardFlops = 0;
  int64_t trafficBytes = 0;  ///< bytes read and written by all Steps

  /// True when the peak, the parameters and the parameters' gradients together are within the machine's memory. That is
  /// conservative, because gradients that exist at the peak count twice.
  bool fits() const { return memory.peak + 2 * weightBytes <= machine.memoryBytes; }
  /// Arithmetic of forward over its time, in 10¹² FLOP/s.
  double forwardTflops() const { return forwardNs > 0 ? forwardFlops / static_cast<double>(forwardNs) / 1e3 : 0; }
};

/// Plans the layer and predicts its times. Throws InputError when a parameter of `system` does not fit the config, or
/// the machine has no figure for its dtype.
Simulation simulate(const MoeConfig& config, const Routing& routing, const System& system, const Machine& machine,
                    PlanOptions options = {});

/// The simulation as the flat object that reports print, with its keys in a fixed order.
nlohmann::ordered_json toRecord(const Simulation& simulation);

}  // namespace moeblaze
