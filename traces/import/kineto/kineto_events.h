#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/formats/read_progress.h"

namespace moeblaze {

/// The arguments of a Kineto event that the importer reads.
enum class KinetoArg : uint8_t {
  bytes,  ///< "Bytes"; negative for a free
  address,
  totalAllocated,
  totalReserved,
  memoryDevice,  ///< "Device Id"
  deviceType,    ///< "Device Type": 0 is the host, 1 CUDA
  order,         ///< "Ev Idx"
  device,
  stream,
  count,  ///< no argument, but how many there are
};

/// One entry of "traceEvents". Fields that are missing or of the wrong type are empty.
struct KinetoEvent {
  std::string phase, category, name;
  std::string process, thread;  ///< "pid" and "tid": numbers, or names that Kineto made up
  std::optional<int64_t> startNs, durationNs;
  std::array<std::optional<int64_t>, static_cast<size_t>(KinetoArg::count)> args;

  const std::optional<int64_t>& operator[](KinetoArg arg) const { return args[static_cast<size_t>(arg)]; }
};

/// One entry of "deviceProperties".
struct KinetoDevice {
  std::optional<int64_t> id, memoryBytes;
  std::string name;
};

/// Receives the contents of a file piece by piece.
class KinetoVisitor {
 public:
  virtual ~KinetoVisitor() = default;
  virtual void event(const KinetoEvent& event) = 0;
  virtual void device(const KinetoDevice& device) = 0;
  /// A text or number that stands beside the events, such as "baseTimeNanoseconds", as written in the file.
  virtual void meta(std::string_view key, std::string_view value) = 0;
  /// An entry of "traceEvents" that is not an object.
  virtual void malformed() = 0;
};

/// Reads Kineto's Chrome JSON without keeping it. Throws InputError naming `source` for text that is not JSON, is
/// nested deeper than kMaxJsonLevels or has no list "traceEvents".
void readKineto(std::string_view text, std::string_view source, KinetoVisitor& visitor,
                const ReadProgress& progress = {});

/// Turns microseconds, written as a decimal number, into ns and rounds them. It is exact where a double would not be.
/// Empty for what is no number and beyond kMaxTimeNs in either direction.
std::optional<int64_t> microsecondsToNs(std::string_view text);

}  // namespace moeblaze
