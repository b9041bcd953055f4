#pragma once

#include <string_view>

namespace moeblaze {

/// Meta keys of an imported snapshot: when it began (unix µs, as text), what its times count where the recording had
/// none, and PyTorch's allocator_settings as JSON.
inline constexpr std::string_view kMetaStartUs = "start_unix_us";
inline constexpr std::string_view kMetaClock = "clock";
inline constexpr std::string_view kMetaClockIndex = "event index";
inline constexpr std::string_view kMetaAllocatorSettings = "allocator_settings";

}  // namespace moeblaze
