#include "traces/import/torch/torch_records.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>
#include <utility>

#include "core/base/error.h"
#include "core/trace/trace_limits.h"
#include "traces/formats/torch_meta.h"
#include "traces/formats/value_record.h"
#include "traces/import/torch/torch_settings.h"

namespace moeblaze {
namespace {

constexpr int64_t kMaxUnixUs = int64_t{1} << 52;  // the year 2112, which in ns is still within int64
constexpr size_t kMaxFrames = 4096;
constexpr size_t kSpareBudget = 4096;

constexpr auto kActions = std::to_array<std::pair<std::string_view, TorchAction>>({
    {"alloc", TorchAction::alloc},
    {"free_requested", TorchAction::freeRequested},
    {"free_completed", TorchAction::freeCompleted},
    {"segment_alloc", TorchAction::segmentAlloc},
    {"segment_free", TorchAction::segmentFree},
    {"segment_map", TorchAction::segmentMap},
    {"segment_unmap", TorchAction::segmentUnmap},
});

class RecordReader {
 public:
  RecordReader(const ValueTree& tree, size_t fileBytes, TraceImport& import, const ReadProgress& progress)
      : tree_(tree), import_(import), progress_(progress), budget_(fileBytes + kSpareBudget) {}

  TorchSnapshot read() {
    if (tree_.isSequence(tree_.root())) {  // before PyTorch 1.13 a snapshot was only the list of its segments
      readSegments(tree_.items(tree_.root()));
      return std::move(snapshot_);
    }
    const ValueRecord top(tree_, tree_.root(), {"snapshot"});
    if (!top.has("segments") && !top.has("device_traces")) {
      refuse(tree_.source(), "is no PyTorch memory snapshot: has neither 'segments' nor 'device_traces'");
    }
    readSettings(top);
    readSegments(top.list("segments"));
    const std::span<const ValueId> traces = top.list("device_traces");
    if (std::ssize(traces) > kMaxSnapshotDevices) {
      refuse(tree_.source(), "device_traces has {} devices; allowed: up to {}", traces.size(), kMaxSnapshotDevices);
    }
    for (size_t i = 0; i < traces.size(); ++i) readEvents(static_cast<int32_t>(i), traces[i]);
    countForeignParts(top);
    return std::move(snapshot_);
  }

 private:
  /// Reads a dict and charges its keys to the budget. Lists of a pickle may share items, so a small file could stand
  /// for endless records, while a file that shares none has at least a byte for each key.
  ValueRecord record(ValueId id, const ValuePlace& place) {
    const ValueRecord result(tree_, id, place);
    const size_t units = 1 + tree_.items(id).size() / 2;
    if (units > budget_) refuse(tree_.source(), "{} repeats records of the file too often", place.text());
    budget_ -= units;
    return result;
  }

  void readSettings(const ValueRecord& top) {
    const std::optional<ValueId> settings = top.find("allocator_settings");
    if (!settings) return;
    const ValueRecord record(tree_, *settings, {"allocator_settings"});
    snapshot_.rules = readTorchAllocatorRules(tree_, record);
    snapshot_.settings = valueAsJson(tree_, *settings);
    maxEntries_ = record.integer("trace_alloc_max_entries", 0, std::numeric_limits<int64_t>::max(), 0);
    overflowed_ = record.boolean("trace_alloc_overflowed", false);
    if (overflowed_) import_.lose("histories cut short: the recording's ring of events overflowed");
  }

  void countForeignParts(const ValueRecord& top) {
    import_.lose("annotations not imported", std::ssize(top.list("external_annotations")));
    import_.lose("segments of host memory not imported", std::ssize(top.list("host_segments")));
    for (ValueId trace : top.list("host_traces"))
      import_.lose("events of host memory not imported", tree_.isSequence(trace) ? std::ssize(tree_.items(trace)) : 1);
  }

  void readSegments(std::span<const ValueId> list) {
    for (size_t i = 0; i < list.size(); ++i) {
      const ValuePlace place{"segments", static_cast<int64_t>(i)};
      const ValueRecord entry = record(list[i], place);
      TorchSegment segment{.address = entry.address("address"),
                           .bytes = entry.integer("total_size", 0, kMaxAllocationBytes),
                           .stream = readStream(entry),
                           .expandable = entry.boolean("is_expandable", false),
                           .stack = readStack(entry),
                           .blocks = {}};
      checkAddress(segment.address, place);
      snapshot_.rules.expandableSegments |= segment.expandable;
      readBlocks(entry, static_cast<int64_t>(i), segment);
      const auto device = static_cast<int32_t>(entry.integer("device", 0, kMaxSnapshotDevices - 1, 0));
      snapshot_.devices[device].segments.push_back(std::move(segment));
    }
  }

  void readBlocks(const ValueRecord& parent, int64_t index, TorchSegment& segment) {
    const std::span<const ValueId> list = parent.list("blocks");
    uint64_t next = segment.address;  // blocks without addresses lie one behind the other
    for (size_t i = 0; i < list.size(); ++i) {
      const ValuePlace place{"segments", index, ".blocks", static_cast<int64_t>(i)};
      const ValueRecord entry = record(list[i], place);
      TorchBlock block{.bytes = entry.integer("size", 0, kMaxAllocationBytes)};
      block.address = entry.has("address") ? entry.address("address") : next;
      checkAddress(block.address, place);
      next = block.address + static_cast<uint64_t>(block.bytes);
      const std::string_view state = entry.text("state");
      block.pending = state == "active_pending_free" || state == "active_awaiting_free";
      if (state == "inactive") continue;
      if (!block.pending && state != "active_allocated") import_.lose("blocks of an unknown state");
      block.requestedBytes = entry.integer("requested_size", 0, kMaxAllocationBytes, block.bytes);
      block.stack = readStack(entry);
      if (const std::span<const ValueId> history = entry.list("history"); !history.empty()) {
        readHistory(history, place, block);
      }
      segment.blocks.push_back(block);
    }
  }

  /// Before PyTorch 2.1 a block carried a list of what had been in it, the newest first.
  void readHistory(std::span<const ValueId> history, const ValuePlace& place, TorchBlock& block) {
    const ValueRecord newest(tree_, history[0], place);
    block.requestedBytes = newest.integer("real_size", 0, kMaxAllocationBytes, block.requestedBytes);
    if (block.stack == StackId::none) block.stack = readStack(newest);
    import_.lose("earlier contents of blocks", std::ssize(history) - 1);
  }

  void readEvents(int32_t device, ValueId id) {
    const std::span<const ValueId> list = sequence(tree_, id, ValuePlace{"device_traces", device}.text());
    if (list.empty()) return;
    TorchDevice& target = snapshot_.devices[device];
    if (maxEntries_ > 0 && std::ssize(list) >= maxEntries_ && !overflowed_) {
      import_.lose("histories cut short: the recording's ring of events is full");
    }
    for (size_t i = 0; i < list.size(); ++i) {
      if (isMilestone(i)) progress_.at(i, list.size());
      const ValuePlace place{"device_traces", device, "", static_cast<int64_t>(i)};
      const ValueRecord entry = record(list[i], place);
      TorchEvent event{.action = readAction(entry), .timeUs = entry.integer("time_us", 0, kMaxUnixUs, -1)};
      if (event.action != TorchAction::other) {
        event.address = entry.address("addr");
        event.bytes = entry.integer("size", 0, kMaxAllocationBytes);
        event.stream = readStream(entry);
        checkAddress(event.address, place);
        if (event.takes()) event.stack = readStack(entry);
      }
      target.events.push_back(event);
    }
  }

  TorchAction readAction(const ValueRecord& record) {
    const std::string_view action = record.text("action");
    const auto found = std::ranges::find(kActions, action, &std::pair<std::string_view, TorchAction>::first);
    if (found != kActions.end()) return found->second;
    if (action == "oom") {
      import_.lose("out-of-memory events");
    } else if (action == "snapshot") {
      import_.lose("snapshot events");
    } else {
      import_.lose("events of an unknown action");
    }
    return TorchAction::other;
  }

  static int64_t readStream(const ValueRecord& record) {
    // A stream is a handle. Host pointers beyond int64 have been seen, so all 64 bits are kept.
    return record.has("stream") ? static_cast<int64_t>(record.bits("stream")) : 0;
  }

  /// Sizes are added to addresses from here on, and sizes may be rounded up; both must stay within 64 bits.
  void checkAddress(uint64_t address, const ValuePlace& place) const {
    if (address > std::numeric_limits<uint64_t>::max() / 2) {
      refuse(tree_.source(), "{} has address {}; allowed: below 2^63", place.text(), address);
    }
  }

  StackId readStack(const ValueRecord& record) {
    const std::optional<ValueId> id = record.find("frames");
    if (!id) return StackId::none;
    const auto [entry, isNew] = stacks_.try_emplace(*id, StackId::none);
    if (!isNew) return entry->second;
    const std::span<const ValueId> list = record.list("frames");
    if (list.size() > kMaxFrames) {
      refuse(tree_.source(), "frames has {} lines; allowed: up to {}", list.size(), kMaxFrames);
    }
    std::vector<Frame> frames;
    for (size_t i = 0; i < list.size(); ++i) frames.push_back(readFrame(list[i], static_cast<int64_t>(i)));
    return stacks_[*id] = import_.trace().stacks.add(std::move(frames));
  }

  Frame readFrame(ValueId id, int64_t position) {
    const auto [entry, isNew] = frames_.try_emplace(id);
    if (!isNew) return entry->second;
    const ValueRecord line = record(id, {"frames", position});
    Frame frame;
    frame.function = import_.text(line.text("name", ""));
    frame.file = import_.text(line.text("filename", ""));
    // C++ frames have no line; some versions write the largest integer there is instead.
    const uint64_t number = line.has("line") ? line.bits("line") : 0;
    frame.line = std::in_range<int32_t>(number) ? static_cast<int32_t>(number) : 0;
    return entry->second = frame;
  }

  const ValueTree& tree_;
  TraceImport& import_;
  const ReadProgress& progress_;
  TorchSnapshot snapshot_;
  size_t budget_;  ///< keys that may still be read
  int64_t maxEntries_ = 0;
  bool overflowed_ = false;
  std::unordered_map<ValueId, StackId> stacks_;
  std::unordered_map<ValueId, Frame> frames_;
};

}  // namespace

TorchSnapshot readTorchRecords(const ValueTree& tree, size_t fileBytes, TraceImport& import,
                               const ReadProgress& progress) {
  return RecordReader(tree, fileBytes, import, progress).read();
}

}  // namespace moeblaze
