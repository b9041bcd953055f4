#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "core/plan/plan.h"
#include "kernels/layer/layer_data.h"

namespace moeblaze {

/// Throws InputError, naming an expert and both counts, when expert ids [L, k] give an expert another number of tokens
/// than the Plan. A Plan with a router is not checked, because its ids are computed.
void requirePlannedRouting(const Plan& plan, std::span<const int32_t> topkIds);

/// Fills one of the Plan's given buffers (parameters, x, ids, gates, output gradient) at `data` in host memory from the
/// fp64 numbers of `inputs`, in the buffer's own dtype and layout. Returns false, with nothing written, when no input
/// is that buffer.
bool writeInput(const Plan& plan, BufferId id, const LayerInputs& inputs, std::byte* data);

/// The Plan's outputs and gradients in the layouts of LayerInputs. `dataOf` leads to the bytes of a result buffer in
/// host memory; they need to stay valid only until it is called again.
LayerResults readResults(const Plan& plan, const LayerInputs& inputs,
                         const std::function<const std::byte*(BufferId)>& dataOf);

}  // namespace moeblaze
