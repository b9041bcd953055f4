#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "kernels/layer/layer_data.h"

namespace moeblaze::host {

/// The index structures that the Plan's dispatch Steps build from the inputs' expert ids, by buffer name.
std::map<std::string, std::vector<int64_t>> buildIndexStructures(const Plan& plan, const LayerInputs& inputs);

}  // namespace moeblaze::host
