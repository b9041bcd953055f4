#include "core/plan/plan.h"

#include <algorithm>
#include <array>

namespace moeblaze {

std::string_view name(Role role) {
  constexpr std::array<std::string_view, 9> kNames{"input",     "output", "weight",    "gradient", "saved",
                                                   "transient", "index",  "workspace", "unknown"};
  return kNames[static_cast<size_t>(role)];
}

std::string_view name(Phase phase) { return phase == Phase::forward ? "forward" : "backward"; }

std::string_view name(Op op) {
  constexpr std::string_view kNames[] = {
#define MOEBLAZE_OP(op, text) text,
      MOEBLAZE_OPS(MOEBLAZE_OP)
#undef MOEBLAZE_OP
  };
  return kNames[static_cast<size_t>(op)];
}

namespace {

/// Widens the lifetime of the storage behind `id` to `step`.
void touch(Plan& plan, BufferId id, int32_t step) {
  Lifetime& lifetime = plan.buffers[index(plan.storageOf(id))].lifetime;
  lifetime.first = std::min(lifetime.first, step);
  lifetime.last = std::max(lifetime.last, step);
}

}  // namespace

void deriveLifetimes(Plan& plan) {
  const int32_t steps = static_cast<int32_t>(plan.steps.size());
  for (Buffer& buffer : plan.buffers) buffer.lifetime = {steps, -1};
  for (int32_t i = 0; i < steps; ++i)
    for (const Operand& operand : plan.operandsOf(plan.steps[i])) touch(plan, operand.id, i);
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    Buffer& buffer = plan.buffers[b];
    if (buffer.ownsStorage() && (buffer.external || buffer.role == Role::input)) buffer.lifetime.first = 0;
    if (buffer.role == Role::output || buffer.role == Role::gradient) touch(plan, static_cast<BufferId>(b), steps - 1);
  }
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    plan.buffers[b].lifetime = plan.buffer(plan.storageOf(static_cast<BufferId>(b))).lifetime;
}

}  // namespace moeblaze
