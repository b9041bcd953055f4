#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/plan/buffer.h"
#include "core/plan/figures.h"
#include "core/plan/step.h"

namespace moeblaze {

/// What the router's backward keeps of forward. It is known for every Plan, whether or not the router is part of it.
struct RouterNeeds {
  int64_t ownBytes = 0;          ///< tensors that only the router has
  std::vector<BufferId> shared;  ///< buffers of the layer that the router's backward reads, each owning its storage
};

/// What forward and backward of one MoE layer run and materialise: Steps in order over named Buffers. A Plan is the
/// only source of sizes, layouts, names and lifetimes for simulation, execution and reports.
struct Plan {
  MoeConfig config;
  std::string system;                    ///< canonical text, with all parameters
  std::string routing;                   ///< canonical text
  std::vector<int64_t> tokensPerExpert;  ///< [E]
  std::vector<int64_t> rowsPerExpert;    ///< [E]: tokensPerExpert, with padding and without what is dropped
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<Operand> operands;  ///< of all Steps, one Step after the other
  RouterNeeds routerNeeds;
  int64_t rowBlock = 1;        ///< the rows of each expert are padded to a multiple of this
  int64_t expertCapacity = 0;  ///< rows that every expert has, tokens beyond them being dropped; 0 without a limit
  int32_t forwardSteps = 0;    ///< Steps before this index are forward, the others backward

  std::span<const Operand> operandsOf(const Step& step) const {
    return std::span(operands).subspan(step.operandsBegin, step.operandsEnd - step.operandsBegin);
  }
  std::span<const Operand> reads(const Step& step) const {
    return std::span(operands).subspan(step.operandsBegin, step.writesBegin - step.operandsBegin);
  }
  std::span<const Operand> writes(const Step& step) const {
    return std::span(operands).subspan(step.writesBegin, step.operandsEnd - step.writesBegin);
  }
  const Buffer& buffer(BufferId id) const { return buffers[index(id)]; }
  /// The buffer that owns the storage of `id`.
  BufferId storageOf(BufferId id) const {
    while (buffer(id).aliasOf != BufferId::none) id = buffer(id).aliasOf;
    return id;
  }
  /// True when `buffer` owns storage that forward leaves for backward. Parameters, outputs and gradients do not count.
  bool isHeldForBackward(const Buffer& buffer) const {
    return buffer.ownsStorage() && buffer.role != Role::weight && buffer.role != Role::output &&
           buffer.role != Role::gradient && buffer.lifetime.first < forwardSteps &&
           buffer.lifetime.last >= forwardSteps;
  }
};

/// Sets every buffer's lifetime from the Plan's Steps: from the first write to the last read. Inputs and external
/// buffers exist from the start, outputs and gradients until the end, and an alias as long as the storage it shares.
void deriveLifetimes(Plan& plan);

/// Describes everything wrong with a Plan, one line each; empty when the Plan is sound. In a sound Plan buffer names
/// are unique, operands exist, reads come after writes, weights are never written, every output and gradient is
/// written, aliases fit their base, sizes match shapes, forward comes before backward, and lifetimes cover every access
/// and nothing more.
std::vector<std::string> checkPlan(const Plan& plan);

}  // namespace moeblaze
