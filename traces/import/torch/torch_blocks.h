#pragma once

#include <cstdint>
#include <map>

#include "core/trace/live_by_address.h"
#include "traces/import/torch/range_map.h"
#include "traces/import/torch/torch_history.h"
#include "traces/import/torch/torch_records.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// Replays the blocks of one device. The size of a block is what the allocator's own counters count. For a block that
/// is still there at the end, the final state tells it. For any other it is the request rounded up, together with the
/// rest of the free memory that the block lay in where that rest was too small to split off.
class TorchBlocks {
 public:
  /// Adds the blocks that are older than the recording to `track`. All arguments must outlive the replay.
  TorchBlocks(const TorchDevice& device, const TorchAllocatorRules& rules, TrackId track, TraceImport& import);

  /// Applies event number `event` of the device; events come in order. `mapped` is the device's memory after that
  /// event, as TorchSegments::apply returns it.
  void apply(size_t event, int64_t timeNs, const RangeMap& mapped);
  /// Compares what is alive after the last event with the final state, and settles what contradicts it.
  void finish();

 private:
  void addOlder(const TorchBlock& block, int64_t stream);
  void addOlderOfFinalState();
  void allocate(size_t event, int64_t timeNs, const RangeMap& mapped);
  void request(uint64_t address, int64_t timeNs);
  void complete(uint64_t address, int64_t timeNs);
  int64_t blockBytes(size_t event, const RangeMap& mapped) const;
  Allocation& allocation(size_t index) { return import_.trace().allocations[index]; }
  /// The block at `address` in the final state; null when there is none.
  const TorchBlock* finalBlock(uint64_t address) const;

  const TorchDevice& device_;
  const TorchAllocatorRules& rules_;
  TrackId track_;
  TraceImport& import_;
  TorchHistory history_;
  std::map<uint64_t, const TorchBlock*> final_;  ///< blocks of the final state, by address
  LiveByAddress<size_t> live_;                   ///< indices of allocations
};

}  // namespace moeblaze
