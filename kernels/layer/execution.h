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

}  // namespace moeblaze
