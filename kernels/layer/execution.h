#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/trace/trace.h"
#include "kernels/layer/layer_data.h"

namespace moeblaze {

/// A Plan that cannot be executed: a Step asks for a buffer that does not exist at that moment, something was written
/// behind a buffer, or the bytes alive are not those planned. The text names the Step and the buffer.
class PlanFailure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a run of a Plan gives.
struct Execution {
  LayerResults results;
  std::vector<int64_t> stepNs;           ///< time of each Step in ns
  std::vector<int64_t> observedPerStep;  ///< bytes the executor held during each Step
  std::vector<uint8_t> kept;             ///< [L, k]; 0 where no row served the slot; empty when every slot was served
  Trace trace;                           ///< a planned and an observed track
};

}  // namespace moeblaze
