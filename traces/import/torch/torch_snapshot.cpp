#include "traces/import/torch/torch_snapshot.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "traces/formats/json_tree.h"
#include "traces/formats/pickle.h"
#include "traces/formats/torch_meta.h"
#include "traces/import/file_kind.h"
#include "traces/import/torch/torch_blocks.h"
#include "traces/import/torch/torch_records.h"
#include "traces/import/torch/torch_segments.h"
#include "traces/import/trace_import.h"

namespace moeblaze {
namespace {

ValueTree readTree(std::string_view bytes, std::string_view source, const ReadProgress& progress) {
  if (bytes.starts_with('\x80')) return readPickle(bytes, source, progress);
  const size_t first = bytes.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && (bytes[first] == '{' || bytes[first] == '[')) {
    return readJsonTree(bytes, source, progress);
  }
  refuse(source, "is no PyTorch memory snapshot; allowed: a pickle of protocol 2 to 5, or JSON");
}

/// Whether a file is a pickle, or JSON with a key that only snapshots have. A JSON snapshot may be a list of segments.
bool isSnapshot(const FileHead& head) {
  if (head.bytes.starts_with('\x80')) return true;
  if (head.firstMark() != '{' && head.firstMark() != '[') return false;
  constexpr std::array kKeys{"\"segments\"", "\"device_traces\"", "\"allocator_settings\"", "\"total_size\""};
  return std::ranges::any_of(kKeys, [&](const char* key) { return head.bytes.find(key) != std::string::npos; });
}

/// The earliest time of all devices, unix µs; negative when no event has a time.
int64_t startUs(const TorchSnapshot& snapshot) {
  int64_t start = std::numeric_limits<int64_t>::max();
  for (const auto& [id, device] : snapshot.devices)
    for (const TorchEvent& event : device.events)
      if (event.timeUs >= 0) start = std::min(start, event.timeUs);
  return start == std::numeric_limits<int64_t>::max() ? -1 : start;
}

/// The time of each event in ns from `start`, strictly ascending. Without times in the recording, the event's number.
std::vector<int64_t> eventTimes(const TorchDevice& device, int64_t start) {
  std::vector<int64_t> times;
  // When the first event frees memory, that memory must exist for a moment first: the events begin 1 ns later.
  const bool freesFirst = !device.events.empty() && device.events[0].gives();
  int64_t last = freesFirst ? 0 : -1;
  for (const TorchEvent& event : device.events) {
    const int64_t time = event.timeUs < 0 ? 0 : (event.timeUs - start) * 1000;
    last = std::max(last + 1, time);
    times.push_back(last);
  }
  return times;
}

TrackId addTrack(Trace& trace, std::string name, TrackKind kind, int32_t device) {
  trace.tracks.push_back({std::move(name), kind, device});
  return static_cast<TrackId>(trace.tracks.size() - 1);
}

void replay(int32_t id, const TorchDevice& device, const TorchSnapshot& snapshot, int64_t start, TraceImport& import,
            const ReadProgress& progress) {
  Trace& trace = import.trace();
  trace.devices.push_back({id, {}, 0});
  const TrackId observed = addTrack(trace, fmt::format("PyTorch allocator, device {}", id), TrackKind::observed, id);
  const TrackId held = addTrack(trace, fmt::format("PyTorch segments, device {}", id), TrackKind::segments, id);
  TorchSegments segments(device, held, import);
  TorchBlocks blocks(device, snapshot.rules, observed, import);
  const std::vector<int64_t> times = eventTimes(device, start);
  for (size_t i = 0; i < device.events.size(); ++i) {
    if (isMilestone(i)) progress.at(i, device.events.size());
    const RangeMap& mapped = segments.apply(device.events[i], times[i]);
    blocks.apply(i, times[i], mapped);
  }
  blocks.finish();
}

}  // namespace

Trace importTorchSnapshot(std::string_view bytes, std::string_view source, const ReadProgress& progress) {
  constexpr double kParsed = 0.6, kRead = 0.8;  // shares of the whole time that are then over, roughly
  const ValueTree tree = readTree(bytes, source, progress.part(0, kParsed));
  TraceImport import{std::string(source)};
  const TorchSnapshot snapshot = readTorchRecords(tree, bytes.size(), import, progress.part(kParsed, kRead));
  import.lose("integers beyond 64 bits", tree.clamped());
  Trace& trace = import.trace();
  trace.meta = {{"source", "pytorch snapshot"}, {"file", std::string(source)}};
  const int64_t start = startUs(snapshot);
  if (start >= 0) {
    trace.meta.emplace_back(kMetaStartUs, std::to_string(start));
  } else {
    trace.meta.emplace_back(kMetaClock, kMetaClockIndex);
  }
  if (!snapshot.settings.empty()) trace.meta.emplace_back(kMetaAllocatorSettings, snapshot.settings);
  for (const auto& [id, device] : snapshot.devices)
    replay(id, device, snapshot, start, import, progress.part(kRead, 1));
  return std::move(trace);
}

FileKind torchSnapshotFile() {
  return {.name = "PyTorch memory snapshot",
          .brief = "PyTorch snapshot",
          .allowed = "a PyTorch memory snapshot (pickle or JSON)",
          .recognises = isSnapshot,
          .read = [](const std::string& path, const ReadProgress& progress) {
            return importTorchSnapshot(contentOf(path), path, progress);
          }};
}

}  // namespace moeblaze
