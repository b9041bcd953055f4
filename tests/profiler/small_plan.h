#pragma once

#include <string>
#include <utility>

#include "core/plan/plan.h"
#include "core/routing/routing.h"
#include "core/systems/system.h"

namespace moeblaze::profiler {

/// A layer so small that every backend runs it at once.
inline MoeConfig smallConfig() {
  MoeConfig config;
  config.name = "small";
  config.dModel = 64;
  config.dFf = 128;
  config.experts = 4;
  config.topK = 2;
  config.tokens = 96;
  return config;
}

/// The Plan of that layer under `system`, and the routing it is made for.
inline std::pair<Plan, Routing> smallPlan(const std::string& system) {
  const MoeConfig config = smallConfig();
  const Routing routing = parseRouting("zipf:0.8", config);
  return {buildPlan(config, routing, System::parse(system)), routing};
}

}  // namespace moeblaze::profiler
