#pragma once

#include <cstdint>
#include <string_view>

namespace moeblaze {

// What importing and exporting PyTorch memory snapshots share.

/// Meta key of an imported snapshot: when it began, in unix µs as text.
inline constexpr std::string_view kMetaStartUs = "start_unix_us";
/// Meta key and value of a snapshot whose recording had no times: its times count events.
inline constexpr std::string_view kMetaClock = "clock";
inline constexpr std::string_view kMetaClockIndex = "event index";
/// Meta key of PyTorch's allocator_settings, as JSON.
inline constexpr std::string_view kMetaAllocatorSettings = "allocator_settings";

/// Most devices of a snapshot.
inline constexpr int32_t kMaxSnapshotDevices = 1024;
/// Deepest nesting of allocator_settings.
inline constexpr int kMaxSettingsLevels = 16;

}  // namespace moeblaze
