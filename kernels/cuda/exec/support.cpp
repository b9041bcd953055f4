#include "kernels/cuda/exec/support.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {

// The Ops that have no kernel.
namespace ops {
const CudaOp concatenate{.absent = "it joins tensors"};
const CudaOp release{.launch = [](const BoundStep&, PlanRun&) {}};  // lets go of what it names; nothing runs
}  // namespace ops

namespace {

/// Tensor-core kernels move rows 16 bytes at a time, which are 8 elements.
constexpr int64_t kWidthMultiple = 8;
/// Tensor-core kernels keep offsets of rows in 32 bits, in units of 16 bytes.
constexpr int64_t kMaxRowElements = int64_t{1} << 35;

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
  if (const int64_t width = std::max({c.dModel, c.dFf, c.sharedWidth()}); c.rows() > kMaxRowElements / width)
    return fmt::format("{} rows of {} elements do not run on CUDA; allowed {} elements a tensor", c.rows(), width,
                       kMaxRowElements);
  if (plan.rowBlock != 1 || plan.expertCapacity != 0)
    return fmt::format("{} pads or drops rows, which does not run on CUDA", plan.system);
  return {};
}

/// Why the Step's Op does not run it; null when it does.
const char* whyNotStep(const BoundStep& step, bool boundsOnHost) {
  const CudaOp& op = cudaOp(step.step.op);
  if (op.absent != nullptr) return op.absent;
  return op.whyNot == nullptr ? nullptr : op.whyNot(step, boundsOnHost);
}

bool readsDenseMap(const Plan& plan, const Step& step) {
  return std::ranges::any_of(plan.reads(step), [&](const Operand& operand) {
    const Layout layout = plan.buffer(operand.id).layout;
    return layout == Layout::expertTokens || layout == Layout::choiceSlots;
  });
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
    if (const char* reason = whyNotStep(bindStep(plan, step, withoutMemory), boundsOnHost))
      return fmt::format("{} does not run on CUDA: {} (step {})", plan.system, reason, step.name);
    if (readsDenseMap(plan, step))
      return fmt::format("{} does not run on CUDA: it keeps a dense map (step {})", plan.system, step.name);
  }
  return {};
}

const Plan& runnable(const Plan& plan) {
  if (const std::string reason = whyNot(plan); !reason.empty()) throw InputError(reason);
  return plan;
}

}  // namespace moeblaze::cuda
