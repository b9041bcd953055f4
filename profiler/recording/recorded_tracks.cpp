#include "profiler/recording/recorded_tracks.h"

#include <fmt/format.h>

namespace moeblaze::profiler {

std::string RecordedTracks::nameOfMemory(uint32_t device) { return fmt::format("GPU {} memory", device); }

TrackId RecordedTracks::track(const std::string& name, TrackKind kind, uint32_t device) {
  const auto [entry, isNew] = tracks_.try_emplace(name);
  if (isNew) entry->second = writer_.addTrack({name, kind, static_cast<int32_t>(device)});
  return entry->second;
}

TrackId RecordedTracks::trackOrShared(const std::string& name, const std::string& shared, uint32_t device) {
  const bool fits = tracks_.contains(name) || writer_.hasRoomForTracks();
  return track(fits ? name : shared, TrackKind::observed, device);
}

TrackId RecordedTracks::memory(MemoryKind kind, uint32_t device) {
  switch (kind) {
    case MemoryKind::pinned:
      return track("pinned host memory", TrackKind::observed, device);
    case MemoryKind::managed:
      return track("managed memory", TrackKind::observed, device);
    case MemoryKind::pageable:
      return track("host memory", TrackKind::observed, device);
    case MemoryKind::device:
    case MemoryKind::array:
    case MemoryKind::other:
      break;
  }
  return track(nameOfMemory(device), TrackKind::observed, device);
}

TrackId RecordedTracks::variables(uint32_t device) {
  return track(fmt::format("GPU {} module variables", device), TrackKind::observed, device);
}

TrackId RecordedTracks::given(uint32_t device) {
  return track(fmt::format("GPU {} parameters and inputs", device), TrackKind::observed, device);
}

TrackId RecordedTracks::work(WorkKind kind, uint32_t device, uint32_t context, uint32_t stream) {
  // Streams are numbered within their context. Most processes have only one context, so the name leaves it out then.
  const std::string where = context <= 1 ? fmt::format("GPU {} stream {}", device, stream)
                                         : fmt::format("GPU {} context {} stream {}", device, context, stream);
  const std::string what = kind == WorkKind::kernel ? " kernels" : " copies";
  return trackOrShared(where + what, fmt::format("GPU {} other streams{}", device, what), device);
}

TrackId RecordedTracks::ranges(uint32_t thread) {
  return trackOrShared(fmt::format("NVTX thread {}", thread), "NVTX other threads", 0);
}

TrackId RecordedTracks::overhead() { return track("profiler and driver", TrackKind::observed, 0); }

CounterId RecordedTracks::pool(uint32_t device, uint64_t address) {
  const auto [entry, isNew] = pools_.try_emplace({device, address});
  if (isNew)
    entry->second = writer_.sink().addCounter(memory(MemoryKind::device, device),
                                              writer_.addString(fmt::format("pool {:#x} reserved", address)),
                                              writer_.addString("bytes"));
  return entry->second;
}

}  // namespace moeblaze::profiler
