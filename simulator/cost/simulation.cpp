#include "simulator/cost/simulation.h"

#include "simulator/cost/cost_model.h"

namespace moeblaze {

Simulation simulate(const MoeConfig& config, const Routing& routing, const System& system, const Machine& machine,
                    PlanOptions options) {
  Simulation result;
  result.plan = buildPlan(config, routing, system, options);
  result.machine = machine;
  result.memory = memoryFigures(result.plan);
  result.routerBytes = routerSavedBytes(result.plan);
  result.weightBytes = weightBytes(result.plan);
  result.stepNs = stepTimes(result.plan, machine);
  for (size_t i = 0; i < result.stepNs.size(); ++i) {
    const Step& step = result.plan.steps[i];
    const bool forward = step.phase == Phase::forward;
    (forward ? result.forwardNs : result.backwardNs) += result.stepNs[i];
    (forward ? result.forwardFlops : result.backwardFlops) += step.flops;
    result.trafficBytes += step.bytesRead + step.bytesWritten;
  }
  return result;
}

nlohmann::ordered_json toRecord(const Simulation& s) {
  const MoeConfig& c = s.plan.config;
  const Waste waste = wasteOf(s.plan);
  return {{"config", c.name},
          {"system", s.plan.system},
          {"activation", name(c.activation)},
          {"routing", s.plan.routing},
          {"gpu", s.machine.name},
          {"d_model", c.dModel},
          {"d_ff", c.dFf},
          {"experts", c.experts},
          {"top_k", c.topK},
          {"tokens", c.tokens},
          {"dtype", name(c.dtype)},
          {"saved_bytes", s.memory.saved},
          {"intermediates_bytes", s.memory.intermediates},
          {"peak_bytes", s.memory.peak},
          {"workspace_bytes", s.memory.workspace},
          {"index_bytes", s.memory.index},
          {"router_bytes", s.routerBytes},
          {"weight_bytes", s.weightBytes},
          {"padded_rows", waste.paddedRows},
          {"dropped_slots", waste.droppedSlots},
          {"forward_ms", static_cast<double>(s.forwardNs) / 1e6},
          {"backward_ms", static_cast<double>(s.backwardNs) / 1e6},
          {"forward_tflops", s.forwardTflops()},
          {"flops", s.forwardFlops + s.backwardFlops},
          {"traffic_bytes", s.trafficBytes},
          {"gpu_memory_bytes", s.machine.memoryBytes},
          {"fits", s.fits()}};
}

}  // namespace moeblaze
