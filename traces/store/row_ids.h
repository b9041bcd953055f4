#pragma once

#include <cstdint>

namespace moeblaze {

/// An allocation in a trace file that is being written; they count up from 0.
enum class AllocationId : int64_t {};
/// A counter in a trace file that is being written; they count up from 0.
enum class CounterId : int32_t {};

}  // namespace moeblaze
