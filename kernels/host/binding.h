#pragma once

#include "kernels/host/memory.h"
#include "kernels/layer_data.h"

namespace moeblaze::host {

/// Fills the Plan's given buffers (parameters, x, ids, gates, output gradient) from fp64 numbers in LayerInputs'
/// layouts. `id` must be allocated. Buffers that nothing gives stay poisoned.
void bindInput(const Plan& plan, BufferId id, const Memory& memory, const LayerInputs& inputs);

/// The Plan's outputs and gradients back in LayerInputs' layouts; every result buffer must still be alive.
LayerResults readResults(const Plan& plan, const Memory& memory, const LayerInputs& inputs);

}  // namespace moeblaze::host
