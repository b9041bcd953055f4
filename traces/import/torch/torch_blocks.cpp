#include "traces/import/torch/torch_blocks.h"

#include <algorithm>
#include <utility>

namespace moeblaze {

TorchBlocks::TorchBlocks(const TorchDevice& device, const TorchAllocatorRules& rules, const TorchSegments& segments,
                         TrackId track, TraceImport& import)
    : device_(device), rules_(rules), segments_(segments), track_(track), import_(import) {
  for (const TorchSegment& segment : device.segments)
    for (const TorchBlock& block : segment.blocks)
      if (!final_.try_emplace(block.address, &block).second) import_.lose("blocks at the address of another");
  completes_ = std::ranges::any_of(device.events,
                                   [](const TorchEvent& event) { return event.action == TorchAction::freeCompleted; });
  findOlder();
}

void TorchBlocks::findOlder() {
  for (size_t i = 0; i < device_.events.size(); ++i) readHistory(device_.events[i], i);
  for (const TorchSegment& segment : device_.segments) {
    for (const TorchBlock& block : segment.blocks) {
      if (finalBlock(block.address) != &block || histories_.contains(block.address)) continue;
      addOlder(block);
      liveAt(block.address)->stream = segment.stream;
      // Stacks are only kept while recording.
      if (block.stack != StackId::none && !device_.events.empty()) {
        import_.lose("allocations recorded before the first event: history cleared or cut short");
      }
    }
  }
}

void TorchBlocks::readHistory(const TorchEvent& event, size_t index) {
  const bool frees = event.action == TorchAction::freeRequested || event.action == TorchAction::freeCompleted;
  if (!frees && event.action != TorchAction::alloc) return;
  const auto [entry, isNew] = histories_.try_emplace(event.address);
  History& history = entry->second;
  if (event.action == TorchAction::alloc) {
    history = {.live = true, .lastAlloc = index};
    return;
  }
  if (isNew) {
    addOlder({.address = event.address, .bytes = rules_.rounded(event.bytes), .requestedBytes = event.bytes});
    liveAt(event.address)->stream = event.stream;
    history.live = true;
  }
  if (event.action == TorchAction::freeCompleted || !completes_) history.live = false;
}

void TorchBlocks::addOlder(const TorchBlock& block) {
  Allocation older{.track = track_, .name = import_.nameOf(block.stack), .older = true, .bytes = block.bytes};
  older.requestedBytes = block.requestedBytes == block.bytes ? 0 : block.requestedBytes;
  older.stack = block.stack;
  older.address = block.address;
  if (block.pending) older.freeRequestedNs = 0;
  live_[block.address] = import_.add(older);
}

Allocation* TorchBlocks::liveAt(uint64_t address) {
  const auto found = live_.find(address);
  return found == live_.end() ? nullptr : &import_.trace().allocations[found->second];
}

const TorchBlock* TorchBlocks::finalBlock(uint64_t address) const {
  const auto found = final_.find(address);
  return found == final_.end() ? nullptr : found->second;
}

void TorchBlocks::apply(size_t event, int64_t timeNs) {
  const TorchEvent& what = device_.events[event];
  switch (what.action) {
    case TorchAction::alloc:
      return allocate(event, timeNs);
    case TorchAction::freeRequested:
      return completes_ ? request(what.address, timeNs) : complete(what.address, timeNs);
    case TorchAction::freeCompleted:
      return complete(what.address, timeNs);
    default:
      return;
  }
}

int64_t TorchBlocks::blockBytes(const TorchEvent& event, size_t index) const {
  const History& history = histories_.at(event.address);
  const TorchBlock* block = finalBlock(event.address);
  if (block && history.live && history.lastAlloc == index) return block->bytes;
  uint64_t gapEnd = segments_.endAt(event.address);
  if (const auto next = live_.upper_bound(event.address); next != live_.end()) gapEnd = std::min(gapEnd, next->first);
  return rules_.blockBytes(event.bytes, static_cast<int64_t>(gapEnd - event.address));
}

void TorchBlocks::allocate(size_t index, int64_t timeNs) {
  const TorchEvent& event = device_.events[index];
  if (Allocation* before = liveAt(event.address)) {
    before->freeNs = before->freeRequestedNs == kNever ? timeNs : before->freeRequestedNs;
    before->freeRequestedNs = kNever;
    import_.lose("frees missing: the address was allocated again");
    live_.erase(event.address);
  }
  const int64_t bytes = blockBytes(event, index);
  live_[event.address] = import_.add({.track = track_,
                                      .name = import_.nameOf(event.stack),
                                      .bytes = bytes,
                                      .requestedBytes = event.bytes == bytes ? 0 : event.bytes,
                                      .allocNs = timeNs,
                                      .stack = event.stack,
                                      .address = event.address,
                                      .stream = event.stream});
}

void TorchBlocks::request(uint64_t address, int64_t timeNs) {
  Allocation* block = liveAt(address);
  if (!block || block->freeRequestedNs != kNever) {
    import_.lose("frees requested of blocks that were not in use");
    return;
  }
  block->freeRequestedNs = timeNs;
}

void TorchBlocks::complete(uint64_t address, int64_t timeNs) {
  Allocation* block = liveAt(address);
  if (!block) {
    import_.lose("frees of blocks that were not in use");
    return;
  }
  block->freeNs = timeNs;
  live_.erase(address);
}

void TorchBlocks::finish() {
  for (const auto& [address, index] : live_) {
    if (device_.segments.empty() || final_.contains(address)) continue;
    Allocation& allocation = import_.trace().allocations[index];
    if (allocation.freeRequestedNs != kNever) {
      allocation.freeNs = std::exchange(allocation.freeRequestedNs, kNever);
    } else {
      import_.lose("blocks that were never freed, but are not there at the end");
    }
  }
  for (const auto& [address, block] : final_)
    if (!live_.contains(address)) import_.lose("blocks that were freed, but are there at the end");
}

}  // namespace moeblaze
