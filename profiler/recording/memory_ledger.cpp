#include "profiler/recording/memory_ledger.h"

#include <fmt/format.h>

#include <algorithm>

namespace moeblaze::profiler {
namespace {

bool isOnDevice(MemoryKind kind) {
  return kind == MemoryKind::device || kind == MemoryKind::array || kind == MemoryKind::other;
}

/// The name of an allocation that has no label.
std::string nameOf(const MemoryEvent& event) {
  if (!event.name.empty()) return event.name;
  std::string name = event.isStreamOrdered                ? "cudaMallocAsync"
                     : event.kind == MemoryKind::pinned   ? "pinned"
                     : event.kind == MemoryKind::managed  ? "managed"
                     : event.kind == MemoryKind::array    ? "array"
                     : event.kind == MemoryKind::pageable ? "host"
                                                          : "cudaMalloc";
  if (!event.source.empty()) name += " by " + event.source.substr(event.source.rfind('/') + 1);
  return name;
}

/// The stream a trace shows. CUPTI gives a call that follows no stream a number beyond all streams; it becomes 0.
int64_t streamOf(const MemoryEvent& event) { return event.isStreamOrdered ? int64_t{event.stream} : 0; }

}  // namespace

void MemoryLedger::count(int64_t bytes) {
  live_.now += bytes;
  live_.peak = std::max(live_.peak, live_.now);
}

void MemoryLedger::write(Block& block) {
  if (block.written || block.lost) return;
  block.written = writer_.addAllocation(block.allocation);
  block.lost = !block.written;
}

void MemoryLedger::free(const std::shared_ptr<Block>& block, int64_t freeNs) {
  write(*block);
  if (!block->written) return;
  freeNs = std::max(freeNs, block->allocation.allocNs);
  const int64_t requested = std::max(block->requestedNs, block->allocation.allocNs);
  writer_.addFree(*block->written, freeNs, requested < freeNs ? requested : kNever);
}

void MemoryLedger::add(const MemoryEvent& event, const std::optional<Label>& label) {
  if (event.pool != 0 && event.poolBytes > 0) addPoolPoint(event.device, event.pool, event.poolBytes, event.timeNs);
  // When access to mapped memory is granted, CUPTI reports an allocation at its address. The memory was counted when
  // cuMemCreate made it, so that allocation and its free are ignored.
  if (!event.isFree && mappings_.contains(event.address)) {
    toldTwice_.insert(event.address);
  } else if (event.isFree && toldTwice_.erase(event.address) > 0) {
    return;
  } else {
    event.isFree ? release(event) : allocate(event, label);
  }
}

void MemoryLedger::allocate(const MemoryEvent& event, const std::optional<Label>& label) {
  const bool given = label && label->given;
  auto block = std::make_shared<Block>();
  block->allocation = {.track = given            ? tracks_.given(event.device)
                                : event.isStatic ? tracks_.variables(event.device)
                                                 : tracks_.memory(event.kind, event.device),
                       .name = writer_.addString(label && !label->name.empty() ? label->name : nameOf(event)),
                       .role = label ? label->role : Role::unknown,
                       .buffer = label ? label->buffer : BufferId::none,
                       .bytes = event.bytes,
                       .allocNs = clock_.at(event.timeNs),
                       .step = label ? label->step : StepId::none,
                       .address = event.address,
                       .stream = streamOf(event)};
  block->onDevice = isOnDevice(event.kind);
  block->calledNs = block->allocation.allocNs;
  if (const auto call = freeCalls_.find(event.address); call != freeCalls_.end()) releaseCalled(call);
  if (const auto before = blocks_.allocate(event.address, block)) {
    replaced_ += !event.isStatic;  // CUPTI does not report that a module is unloaded
    if ((*before)->onDevice) count(-(*before)->allocation.bytes);
    free(*before, clock_.at(event.timeNs));
  }
  if (block->onDevice) count(event.bytes);
  if (order_ == nullptr || !event.isStreamOrdered || placement_ == StreamPlacement::call) return write(*block);
  order_->addCall({event.context, event.stream}, event.correlation, event.timeNs, [this, block](int64_t timeNs) {
    if (!block->written) block->allocation.allocNs = clock_.at(timeNs);
    write(*block);
  });
}

void MemoryLedger::release(const MemoryEvent& event) {
  const auto freed = blocks_.free(event.address);
  const int64_t nowNs = clock_.at(event.timeNs);
  if (!freed) {
    ++unmatched_;
    if (event.bytes <= 0) return;
    // The memory was allocated before the recording began.
    Block older;
    older.allocation = {.track = tracks_.memory(event.kind, event.device),
                        .name = writer_.addString(nameOf(event)),
                        .older = true,
                        .bytes = event.bytes,
                        .allocNs = std::min<int64_t>(0, nowNs),
                        .address = event.address,
                        .stream = streamOf(event)};
    return free(std::make_shared<Block>(older), nowNs);
  }
  const std::shared_ptr<Block>& block = *freed;
  freeCalls_.erase(event.address);
  if (block->onDevice) count(-block->allocation.bytes);
  block->requestedNs = nowNs;
  if (order_ == nullptr || !event.isStreamOrdered) return free(block, nowNs);
  order_->addCall({event.context, event.stream}, event.correlation, event.timeNs,
                  [this, block](int64_t timeNs) { free(block, clock_.at(timeNs)); });
}

void MemoryLedger::add(const MappingEvent& event) {
  const int64_t nowNs = clock_.at(event.timeNs);
  if (event.op == MappingOp::create) {
    Handle handle;
    handle.block.allocation = {.track = event.device < 0
                                            ? tracks_.memory(MemoryKind::pinned, 0)
                                            : tracks_.memory(MemoryKind::device, static_cast<uint32_t>(event.device)),
                               .name = writer_.addString("cuMemCreate"),
                               .bytes = event.bytes,
                               .allocNs = nowNs};
    handle.block.onDevice = event.device >= 0;
    if (handle.block.onDevice) count(event.bytes);
    handles_.insert_or_assign(event.handle, handle);
    return;
  }
  if (event.op == MappingOp::unmap) return unmap(event, nowNs);
  const auto found = handles_.find(event.handle);
  if (found == handles_.end()) return;  // memory of another process
  Handle& handle = found->second;
  switch (event.op) {
    case MappingOp::map:
      ++handle.mappings;
      mappings_[event.address] = event.handle;
      if (!handle.block.written) handle.block.allocation.address = event.address;
      write(handle.block);
      return;
    case MappingOp::retain:
      ++handle.references;
      return;
    default:
      --handle.references;
  }
  letGo(found, nowNs);
}

/// The unmapped range may contain several mappings, each of a different handle.
void MemoryLedger::unmap(const MappingEvent& event, int64_t timeNs) {
  const uint64_t end = event.address + static_cast<uint64_t>(event.bytes);
  for (auto it = mappings_.lower_bound(event.address); it != mappings_.end() && it->first < end;) {
    const auto handle = handles_.find(it->second);
    it = mappings_.erase(it);
    if (handle == handles_.end()) continue;
    --handle->second.mappings;
    letGo(handle, timeNs);
  }
}

/// Frees physical memory once neither a reference to its handle nor a mapping keeps it.
void MemoryLedger::letGo(std::map<uint64_t, Handle>::iterator handle, int64_t timeNs) {
  Handle& it = handle->second;
  if (it.references > 0 || it.mappings > 0) return;
  if (it.block.onDevice) count(-it.block.allocation.bytes);
  free(std::make_shared<Block>(it.block), timeNs);
  handles_.erase(handle);
}

void MemoryLedger::add(const FreeCallEvent& event) {
  // When the call returns, the address may belong to a newer allocation already. The call frees only a block that was
  // allocated before the call began.
  const std::shared_ptr<Block>* block = blocks_.find(event.address);
  if (block && (*block)->calledNs < clock_.at(event.beganNs))
    freeCalls_.try_emplace(event.address, clock_.at(event.endedNs));
}

void MemoryLedger::releaseCalled(std::map<uint64_t, int64_t>::iterator call) {
  const std::shared_ptr<Block> block = *blocks_.free(call->first);
  if (block->onDevice) count(-block->allocation.bytes);
  free(block, call->second);
  freeCalls_.erase(call);
}

void MemoryLedger::settle(int64_t untilNs) {
  for (auto call = freeCalls_.begin(); call != freeCalls_.end();) {
    const auto it = call++;
    if (it->second < untilNs) releaseCalled(it);
  }
  for (auto& [number, handle] : handles_) write(handle.block);
}

void MemoryLedger::addPoolPoint(uint32_t device, uint64_t pool, int64_t bytes, int64_t timeNs) {
  auto& [lastNs, lastBytes] = poolPoints_.try_emplace({device, pool}, INT64_MIN, -1).first->second;
  if (bytes == lastBytes) return;
  lastBytes = bytes;
  lastNs = std::max(lastNs, clock_.at(timeNs));
  writer_.sink().addPoint(tracks_.pool(device, pool), lastNs, static_cast<double>(bytes));
}

void MemoryLedger::add(const PoolEvent& event) {
  if (event.edge == PoolEdge::created) return;
  addPoolPoint(event.device, event.address, event.edge == PoolEdge::destroyed ? 0 : event.bytes, event.timeNs);
}

}  // namespace moeblaze::profiler
