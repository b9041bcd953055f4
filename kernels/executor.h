#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/plan.h"
#include "core/trace.h"
#include "kernels/layer_data.h"

namespace moeblaze {

/// A Plan that cannot be executed: a Step asks for a buffer that does not exist at that moment, something was written
/// behind a buffer, or bytes alive are not what was planned. Names the Step and the buffer.
class PlanFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What running a Plan gave.
struct Execution {
  LayerResults results;
  std::vector<int64_t> stepNs;           ///< time of each Step
  std::vector<int64_t> observedPerStep;  ///< bytes the executor held during each Step
  std::vector<uint8_t> kept;             ///< [L, k]; 0 where no row served the slot; empty when every one was
  Trace trace;                           ///< a planned and an observed track
};

/// Runs `plan` on this machine's CPU, every Step with the buffers it names and no other: each is allocated and poisoned
/// when its lifetime begins, has canaries behind it, and is poisoned again and freed when its lifetime ends. Computes
/// in fp32, or in fp64 when the config's dtype is fp64. Throws PlanFailure, and Interrupted between Steps
/// under an InterruptWatch.
Execution executeOnHost(const Plan& plan, const LayerInputs& inputs);

/// Throws DeviceError when this machine plainly cannot hold a run of executeOnHost: the Plan's buffers, what is given
/// beside them, and both in fp64 as the executor takes and returns them.
void checkHostMemory(const Plan& plan);

}  // namespace moeblaze
