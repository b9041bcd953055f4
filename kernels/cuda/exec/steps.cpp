#include "kernels/cuda/exec/steps.h"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/error.h"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

constexpr int64_t kMaxRouterChoices = 16;
/// Tensor-core kernels move rows 16 bytes at a time.
constexpr int64_t kWidthMultiple = 8;
/// They keep offsets of rows in 32 bits, in units of 16 bytes.
constexpr int64_t kMostRowElements = int64_t{1} << 35;

bool readsTokens(const BoundStep& step) {
  return std::ranges::any_of(operandsOf(step.reads, Use::data), [](const BoundOperand* operand) {
    return operand->buffer->layout == Layout::tokens && operand->buffer->role != Role::gradient;
  });
}

bool isProduct(Op op) {
  return op == Op::groupedGemm || op == Op::denseGemm || op == Op::weightGradient || op == Op::fusedUp ||
         op == Op::fusedDownBackward;
}

/// Operands of a product all have the model's dtype, unless they are the router's.
bool isRouters(const BoundStep& step) {
  const auto mixed = [&](const BoundOperand* operand) { return operand->buffer->dtype != step.plan.config.dtype; };
  return std::ranges::any_of(operandsOf(step.reads, Use::data), mixed) ||
         std::ranges::any_of(operandsOf(step.writes, Use::data), mixed);
}

/// Expert bounds are on the device, and rows may be tokens: the project's own kernels. Otherwise the library's.
bool runsFused(const BoundStep& step) {
  return step.step.gemm.experts > 0 ? indexOf(step.reads, Meaning::offsets) != nullptr
                                    : step.step.family == KernelFamily::fused;
}

std::string whyNotProduct(const BoundStep& step, bool boundsOnHost) {
  const bool experts = step.step.gemm.experts > 0;
  if (step.step.family == KernelFamily::triton) return "its Triton products are not built here";
  if (!operandsOf(step.reads, Use::recompute).empty()) return "it recomputes inside a product";
  if (experts && !runsFused(step) && !boundsOnHost) return "it addresses rows without expert offsets";
  for (const auto* operands : {&step.reads, &step.writes})
    for (Use use : {Use::a, Use::b, Use::y})
      for (const BoundOperand* operand : operandsOf(*operands, use))
        if (operand->buffer->dtype != step.plan.config.dtype) return "its projections have a dtype of their own";
  const bool paired = step.step.op == Op::fusedUp || step.step.op == Op::fusedDownBackward;
  if (paired && isGated(step.plan.config.activation) && step.written(Use::a) != nullptr &&
      step.written(Use::b) == nullptr)
    return "W1 and W2 are one tensor";
  if (experts && runsFused(step) && readsTokens(step) && indexOf(step.reads, Meaning::tokenOfRow) == nullptr)
    return "it reads tokens without knowing their rows";
  for (const BoundOperand* operand : operandsOf(step.writes, Use::data))
    if (operand->buffer->layout != Layout::rows && operand->buffer->layout != Layout::weight && experts)
      return "a product writes to tokens";
  return {};
}

std::string whyNotStep(const BoundStep& step, bool boundsOnHost) {
  if (isProduct(step.step.op)) return isRouters(step) ? std::string{} : whyNotProduct(step, boundsOnHost);
  switch (step.step.op) {
    case Op::concatenate:
      return "it joins tensors";
    case Op::gateGradient:
      return weightsOf(step.reads).empty() ? "" : "its gate gradient multiplies again";
    case Op::buildIndex:
      return indexOf(step.writes, Meaning::offsets) != nullptr ? "" : "its index structures have no expert offsets";
    case Op::fusedActivation:
    case Op::fusedActivationBackward:
      return isGated(step.plan.config.activation) && step.read(Use::b) == nullptr ? "W1 and W2 are one tensor" : "";
    default:
      return {};
  }
}

std::string whyNotConfig(const Plan& plan) {
  const MoeConfig& c = plan.config;
  if (c.dtype != DType::bf16 && c.dtype != DType::fp16)
    return fmt::format("dtype {} does not run on CUDA; allowed: bf16, fp16", name(c.dtype));
  for (const auto& [field, width] :
       {std::pair{"d_model", c.dModel}, {"d_ff", c.dFf}, {"shared width", c.sharedWidth()}})
    if (width % kWidthMultiple != 0)
      return fmt::format("{} {} does not run on CUDA; it must be a multiple of {}", field, width, kWidthMultiple);
  if (c.experts > kMaxDispatchExperts)
    return fmt::format("{} experts do not run on CUDA; allowed up to {}", c.experts, kMaxDispatchExperts);
  if (const int64_t width = std::max({c.dModel, c.dFf, c.sharedWidth()}); c.rows() > kMostRowElements / width)
    return fmt::format("{} rows of {} elements do not run on CUDA; allowed {} elements a tensor", c.rows(), width,
                       kMostRowElements);
  if (plan.rowBlock != 1 || plan.expertCapacity != 0)
    return fmt::format("{} pads or drops rows, which does not run on CUDA", plan.system);
  return {};
}

void launch(const BoundStep& step, Context& context) {
  switch (step.step.op) {
    case Op::route:
      return route(step, context);
    case Op::routeBackward:
      return routeBackward(step, context);
    case Op::sort:
      return sortIndex(step, context);
    case Op::buildIndex:
      return buildIndex(step, context);
    case Op::gather:
    case Op::scatter:
    case Op::scaleRows:
      return moveRows(step, context);
    case Op::scatterAdd:
    case Op::reduce:
    case Op::combine:
    case Op::reduceGradients:
      return sumToTokens(step, context);
    case Op::groupedGemm:
    case Op::denseGemm:
      if (isRouters(step)) return routerProduct(step, context);
      return runsFused(step) ? fusedProduct(step, context) : libraryProduct(step, context);
    case Op::weightGradient:
      if (isRouters(step)) return routerProduct(step, context);
      return runsFused(step) ? fusedWeightGradient(step, context) : libraryWeightGradient(step, context);
    case Op::fusedUp:
      return fusedUp(step, context);
    case Op::fusedDownBackward:
      return fusedDownBackward(step, context);
    case Op::gateGradient:
      return gateGradient(step, context);
    case Op::activation:
    case Op::activationBackward:
    case Op::multiply:
    case Op::multiplyBackward:
    case Op::fusedActivation:
    case Op::fusedActivationBackward:
    case Op::cast:
    case Op::add:
    case Op::fill:
      return elementwise(step, context);
    case Op::concatenate:
    case Op::release:
      return;
  }
}

}  // namespace

std::string whyNot(const Plan& plan) {
  if (std::string reason = whyNotConfig(plan); !reason.empty()) return reason;
  bool boundsOnHost = false;
  const auto withoutMemory = [](BufferId) -> std::byte* { return nullptr; };
  for (const Step& step : plan.steps) {
    boundsOnHost |= step.op == Op::sort && step.hostStalls > 0;
    if (step.op == Op::route && plan.config.topK > kMaxRouterChoices)
      return fmt::format("top_k {} does not run on CUDA with its router; allowed up to {}", plan.config.topK,
                         kMaxRouterChoices);
    if (const std::string reason = whyNotStep(bindStep(plan, step, withoutMemory), boundsOnHost); !reason.empty())
      return fmt::format("{} does not run on CUDA: {} (step {})", plan.system, reason, step.name);
    for (const Operand& operand : plan.reads(step))
      if (plan.buffer(operand.id).layout == Layout::expertTokens ||
          plan.buffer(operand.id).layout == Layout::choiceSlots)
        return fmt::format("{} does not run on CUDA: it keeps a dense map (step {})", plan.system, step.name);
  }
  return {};
}

const Plan& runnable(const Plan& plan) {
  if (const std::string reason = whyNot(plan); !reason.empty()) throw InputError(reason);
  return plan;
}

void runStep(const BoundStep& step, Context& context) {
  nvtxRangePushA(step.step.name.c_str());
  try {
    launch(step, context);
  } catch (const std::out_of_range&) {
    nvtxRangePop();
    throw DeviceError(fmt::format("step {} lacks an operand of {}", step.step.name, name(step.step.op)));
  } catch (...) {
    nvtxRangePop();
    throw;
  }
  nvtxRangePop();
}

}  // namespace moeblaze::cuda
