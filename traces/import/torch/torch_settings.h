#pragma once

#include <string>

#include "traces/formats/value_record.h"
#include "traces/formats/value_tree.h"
#include "traces/import/torch/torch_allocator.h"

namespace moeblaze {

/// The rules that a snapshot's allocator_settings tell; what they lack has PyTorch's default.
TorchAllocatorRules readTorchAllocatorRules(const ValueTree& tree, const ValueRecord& settings);

/// A value as JSON text. Throws InputError beyond 16 levels or 10,000 values.
std::string valueAsJson(const ValueTree& tree, ValueId id);

}  // namespace moeblaze
