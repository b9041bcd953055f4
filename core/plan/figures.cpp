#include "core/plan/figures.h"

#include <algorithm>
#include <cstdlib>

#include "core/plan/plan.h"

namespace moeblaze {
namespace {

/// Most bytes of workspace buffers that are alive at once.
int64_t largestWorkspace(const Plan& plan) {
  // The most scratch is alive at the first Step of some scratch buffer. There are few of them, so all pairs are looked
  // at.
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

/// True when a backward Step that is not the router's reads or writes the storage `id`.
bool isUsedInBackward(const Plan& plan, BufferId id) {
  for (const Step& step : std::span(plan.steps).subspan(plan.forwardSteps)) {
    if (step.router) continue;
    for (const Operand& operand : plan.operandsOf(step))
      if (plan.storageOf(operand.id) == id) return true;
  }
  return false;
}

}  // namespace

std::vector<int64_t> bytesPerStep(const Plan& plan) {
  std::vector<int64_t> bytes(plan.steps.size() + 1, 0);
  for (const Buffer& buffer : plan.buffers) {
    if (buffer.external || !buffer.ownsStorage() || buffer.lifetime.last < buffer.lifetime.first) continue;
    bytes[buffer.lifetime.first] += buffer.bytes;
    bytes[buffer.lifetime.last + 1] -= buffer.bytes;
  }
  for (size_t i = 1; i < bytes.size(); ++i) bytes[i] += bytes[i - 1];
  bytes.pop_back();
  return bytes;
}

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

int64_t routerSavedBytes(const Plan& plan) {
  int64_t bytes = plan.routerNeeds.ownBytes;
  for (BufferId id : plan.routerNeeds.shared)
    if (!isUsedInBackward(plan, id)) bytes += plan.buffer(id).bytes;
  return bytes;
}

std::vector<BufferId> liveAt(const Plan& plan, int32_t step) {
  std::vector<BufferId> live;
  for (size_t b = 0; b < plan.buffers.size(); ++b) {
    const Buffer& buffer = plan.buffers[b];
    if (!buffer.external && buffer.ownsStorage() && buffer.lifetime.contains(step))
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
