#pragma once

#include <cstdint>
#include <string>
#include <variant>

/// What happened in a profiled program: one struct for each kind of event, without any of the profiler's own types.
/// All times are ns of the profiler's clock.
namespace moeblaze::profiler {

enum class MemoryKind : uint8_t { device, pinned, managed, pageable, array, other };
enum class WorkKind : uint8_t { kernel, copy, set };
enum class RangeEdge : uint8_t { start, end, instant };
enum class PoolEdge : uint8_t { created, destroyed, trimmed };
enum class MappingOp : uint8_t { create, retain, release, map, unmap };

/// Memory was allocated or freed.
struct MemoryEvent {
  bool isFree = false;
  bool isStreamOrdered = false;
  bool isStatic = false;  ///< a variable of a module
  MemoryKind kind = MemoryKind::device;
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t timeNs = 0;  ///< when the call was made, also for stream-ordered memory
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t correlation = 0;  ///< number of the call
  uint64_t pool = 0;         ///< address of the pool that the memory belongs to; 0: none
  int64_t poolBytes = 0;     ///< bytes that the pool held from the device at that time
  std::string name{};        ///< of a module's variable
  std::string source{};      ///< library that made the call; empty when not known
};

/// A stream of a GPU ran a kernel, a copy or a set.
struct WorkEvent {
  WorkKind kind = WorkKind::kernel;
  int64_t startNs = 0, endNs = 0;
  uint32_t device = 0, context = 0, stream = 0;
  uint32_t correlation = 0;  ///< number of the call that enqueued it
  std::string name;          ///< mangled, as the compiler named it
};

/// One edge of a range that the program named (NVTX). The start and the end of a range have the same id.
struct RangeEvent {
  RangeEdge edge = RangeEdge::start;
  int64_t timeNs = 0;
  uint32_t id = 0;
  uint32_t thread = 0;
  std::string name, domain;  ///< empty in an end
};

/// This process made the calls numbered `correlation` under an external id of its own.
struct AttributionEvent {
  uint32_t correlation = 0;
  uint64_t externalId = 0;
};

/// A pool of stream-ordered memory was created, destroyed or trimmed.
struct PoolEvent {
  PoolEdge edge = PoolEdge::created;
  uint32_t device = 0;
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t timeNs = 0;
};

/// The process uses this GPU.
struct DeviceEvent {
  uint32_t device = 0;
  std::string name;
  int64_t memoryBytes = 0;
  std::string uuid;  ///< identifies the GPU; its ordinal `device` depends on CUDA_VISIBLE_DEVICES
};

/// The profiler or the driver took this time from the program.
struct OverheadEvent {
  std::string name;
  int64_t startNs = 0, endNs = 0;
};

/// Physical memory was created without an address, or mapped to one (cuMemCreate, cuMemMap).
struct MappingEvent {
  MappingOp op = MappingOp::create;
  uint64_t handle = 0;   ///< in all but unmap
  uint64_t address = 0;  ///< in map and unmap
  int64_t bytes = 0;     ///< in create, map and unmap
  int32_t device = 0;    ///< in create; -1: host memory
  int64_t timeNs = 0;
};

/// A call freed memory. Most frees are reported by a MemoryEvent as well, but CUPTI 13.0 has no records of frees on
/// threads that have never allocated.
struct FreeCallEvent {
  uint64_t address = 0;
  int64_t beganNs = 0, endedNs = 0;
};

/// The profiler knows that something happened, but not when, or not what.
struct LostEvent {
  std::string what;
  int64_t count = 1;
};

using Event = std::variant<MemoryEvent, WorkEvent, RangeEvent, AttributionEvent, PoolEvent, DeviceEvent, OverheadEvent,
                           MappingEvent, FreeCallEvent, LostEvent>;

}  // namespace moeblaze::profiler
