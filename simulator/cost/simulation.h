#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/systems/system.h"
#include "core/trace/trace.h"
#include "simulator/cost/machine.h"

namespace moeblaze {

/// One system's layer on one machine: what it needs and how long it takes.
struct Simulation {
  Plan plan;
  Machine machine;
  MemoryFigures memory;
  int64_t routerBytes = 0;  ///< what the router's own tensors add to `saved`; in it only when the router is planned
  int64_t weightBytes = 0;  ///< parameters; their gradients take as much again
  std::vector<int64_t> stepNs;
  int64_t forwardNs = 0;
  int64_t backwardNs = 0;
  double forwardFlops = 0;
  double backwardFlops = 0;
  int64_t trafficBytes = 0;  ///< read and written by all Steps

  /// Peak, parameters and parameter gradients within the machine's memory. Conservative: gradients that exist at the
  /// peak count twice.
  bool fits() const { return memory.peak + 2 * weightBytes <= machine.memoryBytes; }
  /// FLOP/s reached in forward, in 10¹².
  double forwardTflops() const { return forwardNs > 0 ? forwardFlops / static_cast<double>(forwardNs) / 1e3 : 0; }
};

Simulation simulate(const MoeConfig& config, const Routing& routing, const System& system, const Machine& machine,
                    PlanOptions options = {});

/// The flat object every report prints, keys in a fixed order.
nlohmann::ordered_json toRecord(const Simulation& simulation);

}  // namespace moeblaze
