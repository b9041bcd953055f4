#pragma once

#include <cstdint>
#include <string>
#include <variant>

/// What happened in a profiled program, one struct for each thing a profiler reports and free of its types. Times are
/// ns of the profiler's clock; texts live as long as the call they are passed to, unless they are std::string.
namespace moeblaze::profiler {

enum class MemoryKind : uint8_t { device, pinned, managed, pageable, array, other };

/// Memory was taken or given back. Of memory in a stream's order, the time is that of the call.
struct MemoryEvent {
  bool isFree = false;
  bool isStreamOrdered = false;
  bool isStatic = false;  ///< a module's variable
  MemoryKind kind = MemoryKind::device;
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t timeNs = 0;
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t correlation = 0;  ///< number of the call
  uint64_t pool = 0;         ///< address of the pool it is from; 0: none
  int64_t poolBytes = 0;     ///< what the pool had then taken from the device
  std::string name{};        ///< of a module's variable
  std::string source{};      ///< library whose call it was, where known
};

enum class WorkKind : uint8_t { kernel, copy, set };

/// Something a stream of a GPU did.
struct WorkEvent {
  WorkKind kind = WorkKind::kernel;
  int64_t startNs = 0, endNs = 0;
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t correlation = 0;
  std::string name;  ///< as compiled: mangled
};

enum class RangeEdge : uint8_t { start, end, instant };

/// An edge of a range the program named (NVTX); both have the same id.
struct RangeEvent {
  RangeEdge edge = RangeEdge::start;
  int64_t timeNs = 0;
  uint32_t id = 0;
  uint32_t thread = 0;
  std::string name, domain;  ///< of a start; an end has none
};

/// Calls numbered `correlation` were made under the id this process gave.
struct AttributionEvent {
  uint32_t correlation = 0;
  uint64_t externalId = 0;
};

enum class PoolEdge : uint8_t { created, destroyed, trimmed };

/// A pool of stream-ordered memory changed.
struct PoolEvent {
  PoolEdge edge = PoolEdge::created;
  uint32_t device = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t timeNs = 0;
};

/// A GPU of the process.
struct DeviceEvent {
  uint32_t device = 0;
  std::string name;
  int64_t memoryBytes = 0;
  std::string uuid;  ///< ordinals follow CUDA_VISIBLE_DEVICES
};

/// Time the profiler or the driver took from the program.
struct OverheadEvent {
  std::string name;
  int64_t startNs = 0, endNs = 0;
};

enum class MappingOp : uint8_t { create, retain, release, map, unmap };

/// Physical memory was made apart from addresses, or mapped to one (cuMemCreate, cuMemMap).
struct MappingEvent {
  MappingOp op = MappingOp::create;
  uint64_t handle = 0;   ///< all but unmap
  uint64_t address = 0;  ///< map, unmap
  int64_t bytes = 0;     ///< create, map, unmap
  int32_t device = 0;    ///< create; -1: host memory
  int64_t timeNs = 0;
};

/// A call gave memory back. Most frees are told of as MemoryEvents too; CUPTI 13.0 leaves out those of threads that
/// have never allocated.
struct FreeCallEvent {
  uint64_t address = 0;
  int64_t beganNs = 0, endedNs = 0;
};

/// Something happened of which the profiler does not know when, or what.
struct LostEvent {
  std::string what;
  int64_t count = 1;
};

using Event = std::variant<MemoryEvent, WorkEvent, RangeEvent, AttributionEvent, PoolEvent, DeviceEvent, OverheadEvent,
                           MappingEvent, FreeCallEvent, LostEvent>;

}  // namespace moeblaze::profiler
