#include "profiler/cupti/record_decoder.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace moeblaze::profiler {
namespace {

std::string text(const char* from) { return from == nullptr ? std::string{} : std::string(from); }
int64_t signedOf(uint64_t value) { return static_cast<int64_t>(value); }

MemoryKind kindOf(uint32_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return MemoryKind::device;
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return MemoryKind::pinned;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return MemoryKind::managed;
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return MemoryKind::pageable;
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return MemoryKind::array;
    default:
      return MemoryKind::other;
  }
}

std::string_view sideOf(uint32_t kind) {
  switch (kindOf(kind)) {
    case MemoryKind::device:
      return "device";
    case MemoryKind::pinned:
      return "pinned";
    case MemoryKind::managed:
      return "managed";
    case MemoryKind::pageable:
      return "pageable";
    case MemoryKind::array:
      return "array";
    case MemoryKind::other:
      break;
  }
  return "memory";
}

/// Which GPU, context and stream the record is about, and the number of its call.
template <typename Record, typename Located>
void setOrigin(const Record& record, Located& event) {
  event.device = record.deviceId;
  event.context = record.contextId;
  event.stream = record.streamId;
  event.correlation = record.correlationId;
}

std::optional<Event> memoryOf(const CUpti_ActivityMemory4& record) {
  MemoryEvent event{.isFree = record.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE,
                    .isStreamOrdered = record.isAsync != 0,
                    .isStatic = record.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC ||
                                record.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC,
                    .kind = kindOf(record.memoryKind),
                    .address = record.address,
                    .bytes = signedOf(record.bytes),
                    .timeNs = signedOf(record.timestamp),
                    .name = text(record.name),
                    .source = text(record.source)};
  setOrigin(record, event);
  if (event.isStreamOrdered) {
    event.pool = record.memoryPoolConfig.address;
    // For a pool of another process, the union holds a process id instead of a size.
    if (record.memoryPoolConfig.memoryPoolType == CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL)
      event.poolBytes = signedOf(record.memoryPoolConfig.pool.size);
  }
  if (event.timeNs == 0) return LostEvent{"allocations and frees without a time"};
  return event;
}

/// Work whose times are missing did happen, so it is counted as a loss.
std::optional<Event> workOf(WorkEvent event) {
  if (event.startNs == 0 || event.endNs < event.startNs)
    return LostEvent{event.kind == WorkKind::kernel ? "kernels without times" : "copies and sets without times"};
  return event;
}

template <typename Record>
WorkEvent workFrom(const Record& record, WorkKind kind, const std::string& name) {
  WorkEvent event{.kind = kind, .startNs = signedOf(record.start), .endNs = signedOf(record.end), .name = name};
  setOrigin(record, event);
  return event;
}

template <typename Record>
std::string copyName(const Record& record) {
  return fmt::format("copy {} to {}", sideOf(record.srcKind), sideOf(record.dstKind));
}

std::optional<Event> rangeOf(const CUpti_ActivityMarker2& record) {
  RangeEvent event{.timeNs = signedOf(record.timestamp),
                   .id = record.id,
                   .thread = record.objectId.pt.threadId,
                   .name = text(record.name),
                   .domain = text(record.domain)};
  if ((record.flags & CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS) != 0) {
    event.edge = RangeEdge::instant;
  } else if ((record.flags & CUPTI_ACTIVITY_FLAG_MARKER_START) != 0) {
    event.edge = RangeEdge::start;
  } else if ((record.flags & CUPTI_ACTIVITY_FLAG_MARKER_END) != 0) {
    event.edge = RangeEdge::end;
  } else {
    return std::nullopt;
  }
  return event;
}

std::optional<Event> poolOf(const CUpti_ActivityMemoryPool3& record) {
  PoolEvent event{.device = record.deviceId,
                  .address = record.address,
                  .bytes = signedOf(record.size),
                  .timeNs = signedOf(record.timestamp)};
  switch (record.memoryPoolOperationType) {
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED:
      event.edge = PoolEdge::created;
      break;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED:
      event.edge = PoolEdge::destroyed;
      break;
    case CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED:
      event.edge = PoolEdge::trimmed;
      break;
    default:
      return std::nullopt;
  }
  // Only this process's memory is recorded, and only its pools have a size.
  if (record.memoryPoolType != CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL) return std::nullopt;
  return event;
}

std::optional<Event> deviceOf(const CUpti_ActivityDevice5& record) {
  DeviceEvent event{
      .device = record.id, .name = text(record.name), .memoryBytes = signedOf(record.globalMemorySize), .uuid = "GPU"};
  constexpr std::array<size_t, 5> kGroupEnds{4, 6, 8, 10, 16};
  size_t at = 0;
  for (size_t end : kGroupEnds) {
    event.uuid += '-';
    for (; at < end; ++at) event.uuid += fmt::format("{:02x}", static_cast<unsigned char>(record.uuid.bytes[at]));
  }
  std::free(const_cast<char*>(record.name));  // CUPTI leaves the name of a device, and no other, to us to free
  return event;
}

std::optional<Event> overheadOf(const CUpti_ActivityOverhead3& record) {
  std::free(record.overheadData);  // CUPTI leaves it to us to free
  const auto nameOf = [&]() -> std::string_view {
    switch (record.overheadKind) {
      case CUPTI_ACTIVITY_OVERHEAD_DRIVER_COMPILER:
        return "driver compiles";
      case CUPTI_ACTIVITY_OVERHEAD_CUPTI_BUFFER_FLUSH:
        return "profiler flushes";
      case CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION:
        return "profiler instruments";
      case CUPTI_ACTIVITY_OVERHEAD_CUPTI_RESOURCE:
        return "profiler takes memory";
      case CUPTI_ACTIVITY_OVERHEAD_RUNTIME_TRIGGERED_MODULE_LOADING:
        return "module is loaded";
      case CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING:
        return "kernel is loaded";
      case CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL:
        return "command buffer is full";
      default:
        return "overhead";
    }
  };
  if (record.start == 0 || record.end < record.start) return std::nullopt;
  return OverheadEvent{std::string(nameOf()), signedOf(record.start), signedOf(record.end)};
}

template <typename Record>
const Record& as(const CUpti_Activity& record) {
  return reinterpret_cast<const Record&>(record);
}

}  // namespace

std::optional<Event> decode(const CUpti_Activity& record) {
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return memoryOf(as<CUpti_ActivityMemory4>(record));
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<CUpti_ActivityKernel10>(record);
      return workOf(workFrom(kernel, WorkKind::kernel, text(kernel.name)));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<CUpti_ActivityMemcpy6>(record);
      return workOf(workFrom(copy, WorkKind::copy, copyName(copy)));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = as<CUpti_ActivityMemcpyPtoP4>(record);
      return workOf(
          workFrom(copy, WorkKind::copy, fmt::format("copy GPU {} to GPU {}", copy.srcDeviceId, copy.dstDeviceId)));
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& set = as<CUpti_ActivityMemset4>(record);
      return workOf(workFrom(set, WorkKind::set, fmt::format("set {}", sideOf(set.memoryKind))));
    }
    case CUPTI_ACTIVITY_KIND_MARKER:
      return rangeOf(as<CUpti_ActivityMarker2>(record));
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& external = as<CUpti_ActivityExternalCorrelation>(record);
      return AttributionEvent{external.correlationId, external.externalId};
    }
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
      return poolOf(as<CUpti_ActivityMemoryPool3>(record));
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return deviceOf(as<CUpti_ActivityDevice5>(record));
    case CUPTI_ACTIVITY_KIND_OVERHEAD:
      return overheadOf(as<CUpti_ActivityOverhead3>(record));
    default:
      return std::nullopt;
  }
}

}  // namespace moeblaze::profiler
