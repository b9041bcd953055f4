#include "traces/import/torch/torch_blocks.h"

#include <algorithm>
#include <utility>

namespace moeblaze {

TorchBlocks::TorchBlocks(const TorchDevice& device, const TorchAllocatorRules& rules, TrackId track,
                         TraceImport& import)
    : device_(device), rules_(rules), track_(track), import_(import), history_(device.events) {
  for (const TorchSegment& segment : device.segments)
    for (const TorchBlock& block : segment.blocks)
      if (!final_.try_emplace(block.address, &block).second) import_.lose("blocks at the address of another");
  for (size_t i : history_.freesOfOlderBlocks()) {
    const TorchEvent& event = device.events[i];
    addOlder({.address = event.address, .bytes = rules_.rounded(event.bytes), .requestedBytes = event.bytes},
             event.stream);
  }
  addOlderOfFinalState();
}

void TorchBlocks::addOlderOfFinalState() {
  for (const TorchSegment& segment : device_.segments) {
    for (const TorchBlock& block : segment.blocks) {
      if (finalBlock(block.address) != &block || history_.knows(block.address)) continue;
      addOlder(block, segment.stream);
      // PyTorch keeps stacks only while it records, so an event of this block is missing.
      if (block.stack != StackId::none && !device_.events.empty()) {
        import_.lose("allocations recorded before the first event: history cleared or cut short");
      }
    }
  }
}

void TorchBlocks::addOlder(const TorchBlock& block, int64_t stream) {
  Allocation older{.track = track_, .name = import_.nameOf(block.stack), .older = true, .bytes = block.bytes};
  older.requestedBytes = block.requestedBytes == block.bytes ? 0 : block.requestedBytes;
  older.stack = block.stack;
  older.address = block.address;
  older.stream = stream;
  if (block.pending) older.freeRequestedNs = 0;
  live_.allocate(block.address, import_.add(older));
}

const TorchBlock* TorchBlocks::finalBlock(uint64_t address) const {
  const auto found = final_.find(address);
  return found == final_.end() ? nullptr : found->second;
}

void TorchBlocks::apply(size_t event, int64_t timeNs, const RangeMap& mapped) {
  const TorchEvent& what = device_.events[event];
  switch (what.action) {
    case TorchAction::alloc:
      return allocate(event, timeNs, mapped);
    case TorchAction::freeRequested:
      return history_.completesFrees() ? request(what.address, timeNs) : complete(what.address, timeNs);
    case TorchAction::freeCompleted:
      return complete(what.address, timeNs);
    default:
      return;
  }
}

int64_t TorchBlocks::blockBytes(size_t event, const RangeMap& mapped) const {
  const TorchEvent& what = device_.events[event];
  const TorchBlock* block = finalBlock(what.address);
  if (block && history_.lastsToTheEnd(what.address, event)) return block->bytes;
  uint64_t gapEnd = mapped.endAt(what.address);
  if (const auto next = live_.nextAfter(what.address)) gapEnd = std::min(gapEnd, *next);
  return rules_.blockBytes(what.bytes, static_cast<int64_t>(gapEnd - what.address));
}

void TorchBlocks::allocate(size_t event, int64_t timeNs, const RangeMap& mapped) {
  const TorchEvent& what = device_.events[event];
  const int64_t bytes = blockBytes(event, mapped);
  const size_t added = import_.add({.track = track_,
                                    .name = import_.nameOf(what.stack),
                                    .bytes = bytes,
                                    .requestedBytes = what.bytes == bytes ? 0 : what.bytes,
                                    .allocNs = timeNs,
                                    .stack = what.stack,
                                    .address = what.address,
                                    .stream = what.stream});
  if (const auto before = live_.allocate(what.address, added)) {
    Allocation& replaced = allocation(*before);
    const int64_t requestedNs = std::exchange(replaced.freeRequestedNs, kNever);
    replaced.freeNs = requestedNs == kNever ? timeNs : requestedNs;
    import_.lose("frees missing: the address was allocated again");
  }
}

void TorchBlocks::request(uint64_t address, int64_t timeNs) {
  const size_t* block = live_.find(address);
  if (!block || allocation(*block).freeRequestedNs != kNever) {
    import_.lose("frees requested of blocks that were not in use");
    return;
  }
  allocation(*block).freeRequestedNs = timeNs;
}

void TorchBlocks::complete(uint64_t address, int64_t timeNs) {
  if (const auto freed = live_.free(address)) {
    allocation(*freed).freeNs = timeNs;
  } else {
    import_.lose("frees of blocks that were not in use");
  }
}

void TorchBlocks::finish() {
  for (const auto& [address, index] : live_) {
    if (device_.segments.empty() || final_.contains(address)) continue;
    Allocation& unfreed = allocation(index);
    if (unfreed.freeRequestedNs != kNever) {
      unfreed.freeNs = std::exchange(unfreed.freeRequestedNs, kNever);
    } else {
      import_.lose("blocks that were never freed, but are not there at the end");
    }
  }
  for (const auto& [address, block] : final_)
    if (!live_.find(address)) import_.lose("blocks that were freed, but are there at the end");
}

}  // namespace moeblaze
