#pragma once

#include <string>
#include <utility>

#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/systems/system.h"

namespace moeblaze::profiler {

/// A layer so small that every backend runs it at once.
inline MoeConfig smallConfig() {
  return {.name = "small", .dModel = 64, .dFf = 128, .experts = 4, .topK = 2, .tokens = 96};
}

/// The Plan of that layer under `system`, and the routing it is made for.
inline std::pair<Plan, Routing> smallPlan(const std::string& system) {
  const MoeConfig config = smallConfig();
  const Routing routing = parseRouting("zipf:0.8", config);
  return {buildPlan(config, routing, System::parse(system)), routing};
}

}  // namespace moeblaze::profiler
