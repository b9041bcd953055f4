#pragma once

#include <cstdint>
#include <limits>
#include <map>

#include "traces/import/torch/torch_records.h"
#include "traces/import/torch/torch_segments.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// Replays one device's blocks. A block's size is what the allocator's counters count: what the final state says for a
/// block that is still there, otherwise the request rounded up, with the rest of the free memory it lay in where that
/// was too small to split off.
class TorchBlocks {
 public:
  /// Adds the blocks older than the recording to `track`. `segments` is replayed alongside.
  TorchBlocks(const TorchDevice& device, const TorchAllocatorRules& rules, const TorchSegments& segments, TrackId track,
              TraceImport& import);

  /// Event number `event` of the device; in order.
  void apply(size_t event, int64_t timeNs);
  /// After the last event: settles what the final state contradicts.
  void finish();

 private:
  static constexpr size_t kNone = std::numeric_limits<size_t>::max();

  /// What the events say of an address as a whole.
  struct History {
    bool live = false;
    size_t lastAlloc = kNone;
  };

  void findOlder();
  void readHistory(const TorchEvent& event, size_t index);
  void addOlder(const TorchBlock& block);
  void allocate(size_t index, int64_t timeNs);
  void request(uint64_t address, int64_t timeNs);
  void complete(uint64_t address, int64_t timeNs);
  int64_t blockBytes(const TorchEvent& event, size_t index) const;
  /// The allocation of the live block at `address`; null when there is none.
  Allocation* liveAt(uint64_t address);
  const TorchBlock* finalBlock(uint64_t address) const;

  const TorchDevice& device_;
  const TorchAllocatorRules& rules_;
  const TorchSegments& segments_;
  TrackId track_;
  TraceImport& import_;
  bool completes_ = false;  ///< frees are completed, not only requested
  std::map<uint64_t, const TorchBlock*> final_;
  std::map<uint64_t, History> histories_;
  std::map<uint64_t, size_t> live_;  ///< indices of allocations, by address
};

}  // namespace moeblaze
