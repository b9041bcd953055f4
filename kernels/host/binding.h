#pragma once

#include <cstddef>
#include <functional>

#include "core/plan/plan.h"
#include "kernels/layer/layer_data.h"

namespace moeblaze {

/// Fills one of the Plan's given buffers (parameters, x, ids, gates, output gradient) at `data` in host memory from
/// fp64 numbers in LayerInputs' layouts. False, and nothing written, when nothing gives that buffer.
bool writeInput(const Plan& plan, BufferId id, const LayerInputs& inputs, std::byte* data);

/// The Plan's outputs and gradients back in LayerInputs' layouts. `dataOf` leads to each result buffer's bytes in host
/// memory, valid until it is called again.
LayerResults readResults(const Plan& plan, const LayerInputs& inputs,
                         const std::function<const std::byte*(BufferId)>& dataOf);

}  // namespace moeblaze
