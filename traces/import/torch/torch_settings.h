#pragma once

#include <string>

#include "traces/formats/value_record.h"
#include "traces/formats/value_tree.h"
#include "traces/import/torch/torch_allocator.h"

namespace moeblaze {

/// Reads the allocator's rules from a snapshot's allocator_settings. Settings that are missing have PyTorch's default.
/// Throws InputError for values out of range.
TorchAllocatorRules readTorchAllocatorRules(const ValueTree& tree, const ValueRecord& settings);

/// A value as JSON text. Throws InputError beyond kMaxSettingsLevels levels or 10,000 values.
std::string valueAsJson(const ValueTree& tree, ValueId id);

}  // namespace moeblaze
