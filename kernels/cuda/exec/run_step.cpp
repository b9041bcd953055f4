#include "kernels/cuda/exec/run_step.h"

#include <fmt/format.h>
#include <nvtx3/nvToolsExt.h>

#include <stdexcept>

#include "core/base/error.h"
#include "kernels/cuda/base/refuse.h"
#include "kernels/cuda/run/ops.h"

namespace moeblaze::cuda {
namespace {

/// An NVTX range from here to the end of the scope.
class StepRange {
 public:
  explicit StepRange(const char* name) { nvtxRangePushA(name); }
  ~StepRange() { nvtxRangePop(); }
  StepRange(const StepRange&) = delete;
  StepRange& operator=(const StepRange&) = delete;
};

}  // namespace

void runStep(const BoundStep& step, PlanRun& run) {
  const StepRange range(step.step.name.c_str());
  const CudaOp& op = cudaOp(step.step.op);
  if (op.absent != nullptr) refuseStep(step, op.absent);
  try {
    op.launch(step, run);
  } catch (const std::out_of_range&) {
    throw DeviceError(fmt::format("step {} lacks an operand of {}", step.step.name, name(step.step.op)));
  }
}

}  // namespace moeblaze::cuda
