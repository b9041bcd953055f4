#include "profiler/cupti/collector.h"

#include <cuda.h>
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "core/base/error.h"
#include "profiler/cupti/activity_buffers.h"
#include "profiler/cupti/record_decoder.h"

namespace moeblaze::profiler {
namespace {

/// A global, because CUPTI passes no user data to its buffer callbacks, and never destroyed, because CUPTI may call
/// them until the process ends.
ActivityBuffers& buffers() {
  static auto* const kBuffers = new ActivityBuffers;
  return *kBuffers;
}

void CUPTIAPI requestBuffer(uint8_t** buffer, size_t* bytes, size_t* maxRecords) {
  *buffer = buffers().request();
  *bytes = *buffer == nullptr ? 0 : ActivityBuffers::kBytes;
  *maxRecords = 0;  // no limit but the size
}

void CUPTIAPI completeBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t validBytes) {
  buffers().complete(buffer, validBytes);
}

struct Call {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
};
/// The calls that report mappings and frees.
constexpr std::array<Call, 11> kCalls{
    {{CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemCreate},
     {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemRelease},
     {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemMap},
     {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemUnmap},
     {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle},
     {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2},
     {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost},
     {CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFreeAsync},
     {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020},
     {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020},
     {CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaFreeAsync_v11020}}};

template <typename Parameters>
const Parameters& parametersOf(const CUpti_CallbackData& call) {
  return *static_cast<const Parameters*>(call.functionParams);
}

FreeCallEvent freeOf(const void* address, int64_t beganNs, int64_t endedNs) {
  return {reinterpret_cast<uint64_t>(address), beganNs, endedNs};
}

Event runtimeEvent(CUpti_CallbackId id, const CUpti_CallbackData& call, int64_t enteredNs, int64_t nowNs) {
  switch (id) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaFree_v3020:
      return freeOf(parametersOf<cudaFree_v3020_params>(call).devPtr, enteredNs, nowNs);
    case CUPTI_RUNTIME_TRACE_CBID_cudaFreeHost_v3020:
      return freeOf(parametersOf<cudaFreeHost_v3020_params>(call).ptr, enteredNs, nowNs);
    default:
      return freeOf(parametersOf<cudaFreeAsync_v11020_params>(call).devPtr, enteredNs, nowNs);
  }
}

/// A call that gives up memory is dated by its beginning, because another thread may own the memory before the call
/// returns. All other calls are dated by their end.
Event driverEvent(CUpti_CallbackId id, const CUpti_CallbackData& call, int64_t enteredNs, int64_t nowNs) {
  switch (id) {
    case CUPTI_DRIVER_TRACE_CBID_cuMemCreate: {
      const auto& it = parametersOf<cuMemCreate_params>(call);
      const bool onDevice = it.prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
      return MappingEvent{
          MappingOp::create, *it.handle, 0, static_cast<int64_t>(it.size), onDevice ? it.prop->location.id : -1, nowNs};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemMap: {
      const auto& it = parametersOf<cuMemMap_params>(call);
      return MappingEvent{MappingOp::map, it.handle, it.ptr, static_cast<int64_t>(it.size), 0, nowNs};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemUnmap: {
      const auto& it = parametersOf<cuMemUnmap_params>(call);
      return MappingEvent{MappingOp::unmap, 0, it.ptr, static_cast<int64_t>(it.size), 0, enteredNs};
    }
    case CUPTI_DRIVER_TRACE_CBID_cuMemRelease:
      return MappingEvent{MappingOp::release, parametersOf<cuMemRelease_params>(call).handle, 0, 0, 0, enteredNs};
    case CUPTI_DRIVER_TRACE_CBID_cuMemRetainAllocationHandle:
      return MappingEvent{
          MappingOp::retain, *parametersOf<cuMemRetainAllocationHandle_params>(call).handle, 0, 0, 0, nowNs};
    case CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2:
      return FreeCallEvent{parametersOf<cuMemFree_v2_params>(call).dptr, enteredNs, nowNs};
    case CUPTI_DRIVER_TRACE_CBID_cuMemFreeHost:
      return freeOf(parametersOf<cuMemFreeHost_params>(call).p, enteredNs, nowNs);
    default:
      return FreeCallEvent{parametersOf<cuMemFreeAsync_params>(call).dptr, enteredNs, nowNs};
  }
}

}  // namespace

Collector::Collector(const Cupti& cupti, CollectorOptions options) : cupti_(cupti), options_(options) {
  subscribe();
  try {
    uint8_t zeroed = 1;
    size_t size = sizeof(zeroed);
    checkCupti(cupti_, cupti_.setAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed),
               "cuptiActivitySetAttribute");
    checkCupti(cupti_, cupti_.setThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM), "cuptiSetThreadIdType");
    const auto call = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id) {
      checkCupti(cupti_, cupti_.enableCallback(1, subscriber_, domain, id), "cuptiEnableCallback");
    };
    call(CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR);
    call(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
    for (const Call& it : kCalls) call(it.domain, it.id);
    checkCupti(cupti_, cupti_.registerCallbacks(requestBuffer, completeBuffer), "cuptiActivityRegisterCallbacks");
    if (options_.allocationSources)
      checkCupti(cupti_, cupti_.enableAllocationSource(1), "cuptiActivityEnableAllocationSource");
    enableAll();
  } catch (...) {
    pause();
    cupti_.unsubscribe(subscriber_);
    throw;
  }
}

Collector::~Collector() {
  if (failed_) return;
  pause();
  cupti_.unsubscribe(subscriber_);
}

void Collector::subscribe() {
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> holder{};
  CUpti_SubscriberParams params{};
  params.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  params.subscriberName = "moeblaze-prof";
  params.oldSubscriberName = holder.data();
  params.oldSubscriberSize = holder.size();
  const CUptiResult result = cupti_.subscribe(&subscriber_, onCallback, this, &params);
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && holder[0] != '\0')
    throw DeviceError(
        fmt::format("CUPTI is held by '{}' in this process; end it, or record with it and import its file",
                    std::string_view(holder.data())));
  checkCupti(cupti_, result, "cuptiSubscribe_v2");
}

void Collector::enableAll() {
  std::vector<CUpti_ActivityKind> kinds{CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL};
  // With this version, collecting markers breaks the program's NVTX ranges: https://github.com/NVIDIA/NVTX/issues/125.
  constexpr uint32_t kBrokenRanges = 130000;
  if (cupti_.version != kBrokenRanges) kinds.push_back(CUPTI_ACTIVITY_KIND_MARKER);
  if (options_.work)
    for (CUpti_ActivityKind kind :
         {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2,
          CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_OVERHEAD})
      kinds.push_back(kind);
  if (options_.attribution) {
    kinds.push_back(CUPTI_ACTIVITY_KIND_RUNTIME);
    kinds.push_back(CUPTI_ACTIVITY_KIND_DRIVER);
    kinds.push_back(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  }
  for (CUpti_ActivityKind kind : kinds) {
    checkCupti(cupti_, cupti_.enable(kind), "cuptiActivityEnable");
    enabled_.push_back(kind);
  }
  checkCupti(cupti_, cupti_.enableAndDump(CUPTI_ACTIVITY_KIND_DEVICE), "cuptiActivityEnableAndDump");
  enabled_.push_back(CUPTI_ACTIVITY_KIND_DEVICE);
}

void Collector::pause() {
  paused_ = true;
  if (failed_) return;
  for (CUpti_ActivityKind kind : enabled_) cupti_.disable(kind);
  enabled_.clear();
}

void Collector::resume() {
  paused_ = false;
  if (!failed_ && enabled_.empty()) enableAll();
}

int64_t Collector::nowNs() const {
  uint64_t now = 0;
  if (!failed_ && cupti_.getTimestamp(&now) == CUPTI_SUCCESS) return static_cast<int64_t>(now);
  timespec wall{};  // CUPTI's clock follows the wall clock
  clock_gettime(CLOCK_REALTIME, &wall);
  return int64_t{wall.tv_sec} * 1'000'000'000 + wall.tv_nsec;
}

void Collector::push(uint64_t id) { cupti_.pushExternalId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, id); }

void Collector::pop() {
  uint64_t last = 0;
  cupti_.popExternalId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

void Collector::drain(bool atEnd, const Sink& sink) {
  // Assumed upper bound of the delay between a record's time and its arrival in a buffer: a thread is sometimes held up
  // between the two.
  constexpr int64_t kSlackNs = 150'000'000;
  // A flush does not return a buffer that holds work still running, so its other records are held back too. The limit
  // keeps a buffer that stays out empty from holding back the recording for ever.
  constexpr int64_t kMaxHeldBackNs = 5'000'000'000;
  const int64_t startNs = nowNs();
  std::vector<Event> calls;
  int64_t lostCalls = 0;
  {
    const std::lock_guard lock(callsMutex_);
    calls.swap(calls_);
    lostCalls = std::exchange(lostCalls_, 0);
  }
  if (!failed_) cupti_.flushAll(atEnd ? CUPTI_ACTIVITY_FLAG_FLUSH_FORCED : 0);
  toldUntilNs_ = std::min(startNs - kSlackNs, std::max(buffers().oldestOutNs(), startNs - kMaxHeldBackNs));
  for (Event& call : calls) sink(std::move(call));
  if (lostCalls > 0) sink(LostEvent{"mappings and frees that found no memory to be noted in", lostCalls});
  buffers().drain([&](uint8_t* buffer, size_t validBytes) {
    CUpti_Activity* record = nullptr;
    while (cupti_.getNextRecord(buffer, validBytes, &record) == CUPTI_SUCCESS)
      if (auto event = decode(*record)) sink(std::move(*event));
  });
  size_t dropped = 0;
  if (!failed_ && cupti_.getDropped(nullptr, 0, &dropped) == CUPTI_SUCCESS && dropped > 0)
    sink(LostEvent{"records CUPTI dropped", static_cast<int64_t>(dropped)});
  const int64_t refused = buffers().refused();
  if (refused > toldRefused_)
    sink(LostEvent{"times CUPTI was given no buffer: the recording could not keep up", refused - toldRefused_});
  toldRefused_ = refused;
  if (failed_ && !toldFailed_) sink(LostEvent{"everything after CUPTI failed"});
  toldFailed_ = failed_;
}

void CUPTIAPI Collector::onCallback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  auto& collector = *static_cast<Collector*>(self);
  switch (domain) {
    case CUPTI_CB_DOMAIN_DRIVER_API:
    case CUPTI_CB_DOMAIN_RUNTIME_API:
      return collector.onCall(domain, id, *static_cast<const CUpti_CallbackData*>(data));
    case CUPTI_CB_DOMAIN_RESOURCE:
      // A context's records are lost when it is destroyed.
      if (id == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) collector.cupti_.flushAll(0);
      return;
    case CUPTI_CB_DOMAIN_STATE:
      if (id == CUPTI_CBID_STATE_FATAL_ERROR) collector.failed_ = true;
      return;
    default:
      return;
  }
}

void Collector::onCall(CUpti_CallbackDomain domain, CUpti_CallbackId id, const CUpti_CallbackData& call) {
  if (paused_) return;
  if (call.callbackSite == CUPTI_API_ENTER) {
    *call.correlationData = static_cast<uint64_t>(nowNs());
    return;
  }
  // Success is 0 in both interfaces. A call that began while collecting was paused has no entry time.
  const int64_t enteredNs = static_cast<int64_t>(*call.correlationData);
  if (call.functionReturnValue == nullptr || *static_cast<const int*>(call.functionReturnValue) != 0 || enteredNs == 0)
    return;
  keep(domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtimeEvent(id, call, enteredNs, nowNs())
                                             : driverEvent(id, call, enteredNs, nowNs()));
}

/// Must not throw when memory runs out, because CUPTI calls it from C.
void Collector::keep(Event event) {
  constexpr size_t kMaxCalls = 1 << 20;
  const std::lock_guard lock(callsMutex_);
  if (calls_.size() < kMaxCalls) {
    try {
      calls_.push_back(std::move(event));
      return;
    } catch (const std::bad_alloc&) {
    }
  }
  ++lostCalls_;
}

}  // namespace moeblaze::profiler
