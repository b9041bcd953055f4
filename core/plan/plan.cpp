#include "core/plan/plan.h"

#include <algorithm>

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
    for (int32_t o = plan.steps[i].operandsBegin; o < plan.steps[i].operandsEnd; ++o)
      touch(plan, plan.operands[o].id, i);
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    Buffer& buffer = plan.buffers[b];
    if (buffer.aliasOf == BufferId::none && (buffer.external || buffer.role == Role::input)) buffer.lifetime.first = 0;
    if (buffer.role == Role::output || buffer.role == Role::gradient) touch(plan, static_cast<BufferId>(b), steps - 1);
  }
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    plan.buffers[b].lifetime = plan.buffer(plan.storageOf(static_cast<BufferId>(b))).lifetime;
}

std::vector<int64_t> bytesPerStep(const Plan& plan) {
  std::vector<int64_t> bytes(plan.steps.size() + 1, 0);
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.external || buffer.aliasOf != BufferId::none || buffer.lifetime.last < buffer.lifetime.first) continue;
    bytes[buffer.lifetime.first] += buffer.bytes;
    bytes[buffer.lifetime.last + 1] -= buffer.bytes;
  }
  for (size_t i = 1; i < bytes.size(); ++i) bytes[i] += bytes[i - 1];
  bytes.pop_back();
  return bytes;
}

namespace {

int64_t largestWorkspace(const Plan& plan) {
  // Scratch rarely outlives its Step, so the few buffers are compared pairwise at their first Steps.
  int64_t largest = 0;
  for (const Buffer& at : plan.buffers) {
    if (at.role != Role::workspace) continue;
    int64_t alive = 0;
    for (const Buffer& buffer : plan.buffers)
      if (buffer.role == Role::workspace && buffer.lifetime.contains(at.lifetime.first)) alive += buffer.bytes;
    largest = std::max(largest, alive);
  }
  return largest;
}

}  // namespace

MemoryFigures memoryFigures(const Plan& plan) {
  MemoryFigures figures;
  for (const Buffer& buffer : plan.buffers) {
    if (!plan.isHeldForBackward(buffer)) continue;
    figures.saved += buffer.bytes;
    if (buffer.intermediate) figures.intermediates += buffer.bytes;
    if (buffer.role == Role::index) figures.index += buffer.bytes;
  }
  const std::vector<int64_t> bytes = bytesPerStep(plan);
  const auto peak = std::max_element(bytes.begin(), bytes.end());
  figures.peak = *peak;
  figures.peakStep = static_cast<int32_t>(peak - bytes.begin());
  figures.workspace = largestWorkspace(plan);
  return figures;
}

std::vector<BufferId> liveAt(const Plan& plan, int32_t step) {
  std::vector<BufferId> live;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (!buffer.external && buffer.aliasOf == BufferId::none && buffer.lifetime.contains(step))
      live.push_back(static_cast<BufferId>(b));
  }
  std::stable_sort(live.begin(), live.end(),
                   [&](BufferId a, BufferId b) { return plan.buffer(a).bytes > plan.buffer(b).bytes; });
  return live;
}

Waste wasteOf(const Plan& plan) {
  Waste waste;
  for (size_t e = 0; e < plan.rowsPerExpert.size(); ++e) {
    const int64_t spare = plan.rowsPerExpert[e] - plan.tokensPerExpert[e];
    (spare < 0 ? waste.droppedSlots : waste.paddedRows) += std::abs(spare);
  }
  return waste;
}

int64_t weightBytes(const Plan& plan) {
  int64_t bytes = 0;
  for (const Buffer& buffer : plan.buffers)
    if (buffer.role == Role::weight) bytes += buffer.bytes;
  return bytes;
}

}  // namespace moeblaze
