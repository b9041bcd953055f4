// The decoder reads CUPTI records made by hand, so that no GPU is needed.
#include <gtest/gtest.h>

#include <cstring>

#include "profiler/cupti/record_decoder.h"

namespace moeblaze::profiler {
namespace {

template <typename Record>
const CUpti_Activity& asActivity(const Record& record) {
  return reinterpret_cast<const CUpti_Activity&>(record);
}

template <typename Wanted, typename Record>
Wanted decoded(const Record& record) {
  const auto event = decode(asActivity(record));
  EXPECT_TRUE(event.has_value());
  const auto* wanted = event ? std::get_if<Wanted>(&*event) : nullptr;
  EXPECT_NE(wanted, nullptr);
  return wanted == nullptr ? Wanted{} : *wanted;
}

/// A record with the origin that every such record has: device 2, context 3, stream 7 and call 11.
template <typename Record>
Record recordOf(CUpti_ActivityKind kind) {
  Record record{};
  record.kind = kind;
  record.deviceId = 2;
  record.contextId = 3;
  record.streamId = 7;
  record.correlationId = 11;
  return record;
}

template <typename Event>
void expectOrigin(const Event& event) {
  EXPECT_EQ(event.device, 2u);
  EXPECT_EQ(event.context, 3u);
  EXPECT_EQ(event.stream, 7u);
  EXPECT_EQ(event.correlation, 11u);
}

CUpti_ActivityMemory4 memoryRecord() {
  auto record = recordOf<CUpti_ActivityMemory4>(CUPTI_ACTIVITY_KIND_MEMORY2);
  record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  record.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  record.address = 0x7f0000000000;
  record.bytes = 3 << 20;
  record.timestamp = 1000;
  return record;
}

TEST(Decoder, Allocation) {
  const auto event = decoded<MemoryEvent>(memoryRecord());
  EXPECT_FALSE(event.isFree);
  EXPECT_FALSE(event.isStreamOrdered);
  EXPECT_EQ(event.kind, MemoryKind::device);
  EXPECT_EQ(event.address, 0x7f0000000000u);
  EXPECT_EQ(event.bytes, 3 << 20);
  EXPECT_EQ(event.timeNs, 1000);
  expectOrigin(event);
}

TEST(Decoder, FreeOfAPool) {
  auto record = memoryRecord();
  record.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE;
  record.isAsync = 1;
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  record.memoryPoolConfig.address = 0xabc;
  record.memoryPoolConfig.pool.size = 32 << 20;
  const auto event = decoded<MemoryEvent>(record);
  EXPECT_TRUE(event.isFree);
  EXPECT_TRUE(event.isStreamOrdered);
  EXPECT_EQ(event.pool, 0xabcu);
  EXPECT_EQ(event.poolBytes, 32 << 20);
}

TEST(Decoder, AnotherProcessesPoolHasNoSize) {
  auto record = memoryRecord();
  record.isAsync = 1;
  record.memoryPoolConfig.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  record.memoryPoolConfig.address = 0xabc;
  record.memoryPoolConfig.pool.processId = 4321;
  EXPECT_EQ(decoded<MemoryEvent>(record).poolBytes, 0);
}

TEST(Decoder, KindsOfMemory) {
  auto record = memoryRecord();
  const std::vector<std::pair<CUpti_ActivityMemoryKind, MemoryKind>> kinds{
      {CUPTI_ACTIVITY_MEMORY_KIND_PINNED, MemoryKind::pinned},
      {CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, MemoryKind::managed},
      {CUPTI_ACTIVITY_MEMORY_KIND_ARRAY, MemoryKind::array},
      {CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC, MemoryKind::device}};
  for (const auto& [kind, wanted] : kinds) {
    record.memoryKind = kind;
    EXPECT_EQ(decoded<MemoryEvent>(record).kind, wanted);
  }
  EXPECT_TRUE(decoded<MemoryEvent>(record).isStatic);
}

TEST(Decoder, MemoryWithoutATimeIsALoss) {
  auto record = memoryRecord();
  record.timestamp = 0;
  EXPECT_EQ(decoded<LostEvent>(record).count, 1);
}

CUpti_ActivityKernel10 kernelRecord() {
  auto record = recordOf<CUpti_ActivityKernel10>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  record.start = 100;
  record.end = 350;
  record.name = "_Z4spinx";
  return record;
}

TEST(Decoder, Kernel) {
  const auto event = decoded<WorkEvent>(kernelRecord());
  EXPECT_EQ(event.kind, WorkKind::kernel);
  EXPECT_EQ(event.startNs, 100);
  EXPECT_EQ(event.endNs, 350);
  EXPECT_EQ(event.name, "_Z4spinx");
  expectOrigin(event);
}

TEST(Decoder, KernelsWithoutTimesAreLosses) {
  auto record = kernelRecord();
  record.start = record.end = 0;
  EXPECT_EQ(decoded<LostEvent>(record).what, "kernels without times");
  record.start = 100, record.end = 99;
  EXPECT_EQ(decoded<LostEvent>(record).what, "kernels without times");
}

TEST(Decoder, CopiesAndSetsSayWhere) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  copy.start = 5, copy.end = 9;
  EXPECT_EQ(decoded<WorkEvent>(copy).name, "copy pinned to device");
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.srcDeviceId = 1, peer.dstDeviceId = 3;
  peer.start = 5, peer.end = 9;
  EXPECT_EQ(decoded<WorkEvent>(peer).name, "copy GPU 1 to GPU 3");
  CUpti_ActivityMemset4 set{};
  set.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  set.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  set.start = 5, set.end = 9;
  EXPECT_EQ(decoded<WorkEvent>(set).name, "set device");
  EXPECT_EQ(decoded<WorkEvent>(set).kind, WorkKind::set);
}

TEST(Decoder, RangesHaveTwoEdgesOrNone) {
  CUpti_ActivityMarker2 marker{};
  marker.kind = CUPTI_ACTIVITY_KIND_MARKER;
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_START;
  marker.timestamp = 70;
  marker.id = 5;
  marker.objectId.pt.threadId = 99;
  marker.name = "forward";
  marker.domain = "torch";
  auto event = decoded<RangeEvent>(marker);
  EXPECT_EQ(event.edge, RangeEdge::start);
  EXPECT_EQ(event.id, 5u);
  EXPECT_EQ(event.thread, 99u);
  EXPECT_EQ(event.name, "forward");
  EXPECT_EQ(event.domain, "torch");
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_END;
  marker.name = nullptr;
  event = decoded<RangeEvent>(marker);
  EXPECT_EQ(event.edge, RangeEdge::end);
  EXPECT_EQ(event.name, "");
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_INSTANTANEOUS;
  EXPECT_EQ(decoded<RangeEvent>(marker).edge, RangeEdge::instant);
  marker.flags = CUPTI_ACTIVITY_FLAG_MARKER_SYNC_ACQUIRE;
  EXPECT_FALSE(decode(asActivity(marker)).has_value());
}

TEST(Decoder, DevicesHaveTheNameThatToolsPrint) {
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.id = 1;
  device.name = strdup("NVIDIA H200");  // CUPTI leaves this name to the decoder to free
  device.globalMemorySize = uint64_t{141} << 30;
  for (int i = 0; i < 16; ++i) device.uuid.bytes[i] = static_cast<char>(i * 16 + i);
  const auto event = decoded<DeviceEvent>(device);
  EXPECT_EQ(event.name, "NVIDIA H200");
  EXPECT_EQ(event.memoryBytes, int64_t{141} << 30);
  EXPECT_EQ(event.uuid, "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

TEST(Decoder, AttributionAndPoolsAndOverhead) {
  CUpti_ActivityExternalCorrelation external{};
  external.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  external.externalId = 42;
  external.correlationId = 7;
  EXPECT_EQ(decoded<AttributionEvent>(external).externalId, 42u);
  EXPECT_EQ(decoded<AttributionEvent>(external).correlation, 7u);
  CUpti_ActivityMemoryPool3 pool{};
  pool.kind = CUPTI_ACTIVITY_KIND_MEMORY_POOL;
  pool.memoryPoolOperationType = CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED;
  pool.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL;
  pool.size = 64;
  EXPECT_EQ(decoded<PoolEvent>(pool).edge, PoolEdge::trimmed);
  pool.memoryPoolType = CUPTI_ACTIVITY_MEMORY_POOL_TYPE_IMPORTED;
  EXPECT_FALSE(decode(asActivity(pool)).has_value());
  CUpti_ActivityOverhead3 overhead{};
  overhead.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  overhead.overheadKind = CUPTI_ACTIVITY_OVERHEAD_LAZY_FUNCTION_LOADING;
  overhead.start = 1, overhead.end = 3;
  overhead.overheadData = std::malloc(8);  // the decoder frees it
  EXPECT_EQ(decoded<OverheadEvent>(overhead).name, "kernel is loaded");
}

TEST(Decoder, KindsOfNoUseAreNothing) {
  CUpti_ActivityAPI api{};
  api.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  EXPECT_FALSE(decode(asActivity(api)).has_value());
}

}  // namespace
}  // namespace moeblaze::profiler
