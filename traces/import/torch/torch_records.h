#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "traces/formats/read_progress.h"
#include "traces/formats/value_tree.h"
#include "traces/import/torch/torch_allocator.h"
#include "traces/import/trace_import.h"

namespace moeblaze {

/// What happened, as an entry of device_traces says.
enum class TorchAction : uint8_t {
  alloc,
  freeRequested,
  freeCompleted,
  segmentAlloc,
  segmentFree,
  segmentMap,
  segmentUnmap,
  other,  ///< an event that neither takes nor gives memory; counted as a loss
};

/// One entry of device_traces.
struct TorchEvent {
  TorchAction action = TorchAction::other;
  StackId stack = StackId::none;
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  int64_t timeUs = -1;  ///< unix time in µs; negative when the recording has no times

  bool isSegment() const { return action >= TorchAction::segmentAlloc && action <= TorchAction::segmentUnmap; }
  /// Whether the event takes memory: a block from the allocator or a segment from the device.
  bool takes() const {
    return action == TorchAction::alloc || action == TorchAction::segmentAlloc || action == TorchAction::segmentMap;
  }
  /// Whether the event gives memory back.
  bool gives() const { return action != TorchAction::other && !takes(); }
};

/// A block in use when the snapshot was taken.
struct TorchBlock {
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t requestedBytes = 0;
  bool pending = false;  ///< whether its free was requested, but not completed
  StackId stack = StackId::none;
};

/// A segment held when the snapshot was taken.
struct TorchSegment {
  uint64_t address = 0;
  int64_t bytes = 0;
  int64_t stream = 0;
  bool expandable = false;
  StackId stack = StackId::none;
  std::vector<TorchBlock> blocks;
};

/// One device's part of a snapshot.
struct TorchDevice {
  std::vector<TorchEvent> events;  ///< in the order in which they happened
  std::vector<TorchSegment> segments;
};

/// A snapshot as plain records.
struct TorchSnapshot {
  std::map<int32_t, TorchDevice> devices;  ///< by number; only those with events or segments
  TorchAllocatorRules rules;
  std::string settings;  ///< allocator_settings as JSON; empty when the snapshot has none
};

/// Reads every record of a snapshot of any PyTorch version. `fileBytes` is the size of its file, which bounds how much
/// there can be to read. What has no place in a Trace is counted in `import` as a loss. Throws InputError for what is
/// not a snapshot or is beyond a limit.
TorchSnapshot readTorchRecords(const ValueTree& tree, size_t fileBytes, TraceImport& import,
                               const ReadProgress& progress = {});

}  // namespace moeblaze
