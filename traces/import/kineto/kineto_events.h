#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "traces/formats/read_progress.h"

namespace moeblaze {

/// The arguments of a Kineto event an import looks at.
enum class KinetoArg : uint8_t {
  bytes,  ///< "Bytes": negative for a free
  address,
  totalAllocated,
  totalReserved,
  memoryDevice,  ///< "Device Id"
  deviceType,    ///< "Device Type": 0 host, 1 CUDA
  order,         ///< "Ev Idx"
  device,
  stream,
  count,  ///< none: how many there are
};

/// One entry of "traceEvents". What is missing or of the wrong type is empty.
struct KinetoEvent {
  std::string phase, category, name;
  std::string process, thread;  ///< "pid" and "tid": numbers, or names of made-up lanes
  std::optional<int64_t> startNs, durationNs;
  std::array<std::optional<int64_t>, static_cast<size_t>(KinetoArg::count)> args;

  const std::optional<int64_t>& operator[](KinetoArg arg) const { return args[static_cast<size_t>(arg)]; }
};

/// One entry of "deviceProperties".
struct KinetoDevice {
  std::optional<int64_t> id, memoryBytes;
  std::string name;
};

/// Receives a file piece by piece.
class KinetoVisitor {
 public:
  virtual ~KinetoVisitor() = default;
  virtual void event(const KinetoEvent& event) = 0;
  virtual void device(const KinetoDevice& device) = 0;
  /// "baseTimeNanoseconds" and other texts and numbers beside the events, as written.
  virtual void meta(std::string_view key, std::string_view value) = 0;
  /// An entry of "traceEvents" that is not an object.
  virtual void malformed() = 0;
};

/// Walks Kineto's Chrome JSON without keeping it. Throws InputError naming `source` for text that is not JSON, is
/// nested deeper than 64 levels or has no list "traceEvents".
void readKineto(std::string_view text, std::string_view source, KinetoVisitor& visitor,
                const ReadProgress& progress = {});

/// Microseconds as a decimal number, in ns, rounded; exact where a double is not. Empty beyond ±2^61 ns.
std::optional<int64_t> microsecondsToNs(std::string_view text);

}  // namespace moeblaze
