#include "kernels/cuda/run/products.h"

#include <algorithm>

namespace moeblaze::cuda {
namespace {

bool readsTokens(const BoundStep& step) {
  return std::ranges::any_of(operandsOf(step.reads, Use::data), [](const BoundOperand* operand) {
    return operand->buffer->layout == Layout::tokens && operand->buffer->role != Role::gradient;
  });
}

/// True when a projection or Y has a dtype other than the model's.
bool hasOtherProjections(const BoundStep& step) {
  for (const auto* operands : {&step.reads, &step.writes})
    for (Use use : {Use::a, Use::b, Use::y})
      for (const BoundOperand* operand : operandsOf(*operands, use))
        if (operand->buffer->dtype != step.plan.config.dtype) return true;
  return false;
}

/// True for a fused Step of a gated activation that writes A and B, or their gradients, as one tensor.
bool writesJoinedProjections(const BoundStep& step) {
  const bool fused = step.step.op == Op::fusedUp || step.step.op == Op::fusedDownBackward;
  return fused && isGated(step.plan.config.activation) && step.written(Use::a) != nullptr &&
         step.written(Use::b) == nullptr;
}

}  // namespace

bool isRouterProduct(const BoundStep& step) {
  const auto mixed = [&](const BoundOperand* operand) { return operand->buffer->dtype != step.plan.config.dtype; };
  return std::ranges::any_of(operandsOf(step.reads, Use::data), mixed) ||
         std::ranges::any_of(operandsOf(step.writes, Use::data), mixed);
}

bool runsFused(const BoundStep& step) {
  return step.step.gemm.experts > 0 ? indexOf(step.reads, Meaning::offsets) != nullptr
                                    : step.step.family == KernelFamily::fused;
}

const char* whyNotProduct(const BoundStep& step, bool boundsOnHost) {
  if (isRouterProduct(step)) return nullptr;
  const bool experts = step.step.gemm.experts > 0;
  if (step.step.family == KernelFamily::triton) return "its Triton products are not built here";
  if (!operandsOf(step.reads, Use::recompute).empty()) return "it recomputes inside a product";
  if (experts && !runsFused(step) && !boundsOnHost) return "it addresses rows without expert offsets";
  if (hasOtherProjections(step)) return "its projections have a dtype of their own";
  if (writesJoinedProjections(step)) return "W1 and W2 are one tensor";
  if (experts && runsFused(step) && readsTokens(step) && indexOf(step.reads, Meaning::tokenOfRow) == nullptr)
    return "it reads tokens without knowing their rows";
  for (const BoundOperand* operand : operandsOf(step.writes, Use::data))
    if (operand->buffer->layout != Layout::rows && operand->buffer->layout != Layout::weight && experts)
      return "a product writes to tokens";
  return nullptr;
}

}  // namespace moeblaze::cuda
